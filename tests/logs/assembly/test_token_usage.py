"""Token classes from the usual way to state them."""

from skilljuror.logs.assembly.token_usage import usage_of_response


def test_usage_of_both_spellings():
    chat = usage_of_response({
        "usage": {
            "prompt_tokens": 10,
            "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": 4},
        }
    })
    responses = usage_of_response({
        "usage": {
            "input_tokens": 10,
            "output_tokens": 2,
            "input_tokens_details": {"cached_tokens": 4},
        }
    })
    assert chat == responses
    assert chat is not None
    assert (chat.input, chat.cache_read, chat.cache_write) == (6, 4, None)
