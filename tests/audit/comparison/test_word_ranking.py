"""Ranking texts by the words that tell them apart."""

from skilljuror.audit.comparison.row_fit import Ranking, stems


def test_words_are_compared_without_case_ending_and_function_words():
    assert stems("Merging the PDFs by `mergePages`") == ["merg", "pdf", "merg", "pag"]
    assert stems("merge page") == ["merg", "pag"]


def test_the_text_with_the_rarer_words_comes_first():
    ranking = Ranking({
        "tables": stems("read a page when tables are extracted"),
        "forms": stems("read a page when forms are filled"),
    })  # fmt: skip
    assert ranking.rank("forms", stems("fill out a form on the page")) == 1
    assert ranking.rank("tables", stems("fill out a form on the page")) == 2


def test_texts_that_fit_as_well_stand_before_the_one_asked_for():
    ranking = Ranking({"a": stems("page"), "b": stems("page")})
    assert ranking.rank("a", stems("page")) == ranking.rank("b", stems("page")) == 2


def test_a_text_without_a_common_word_has_no_place():
    ranking = Ranking({"a": stems("page"), "b": stems("kiln")})
    assert ranking.rank("b", stems("page")) is None
    assert Ranking({}).scores(stems("page")) == {}
