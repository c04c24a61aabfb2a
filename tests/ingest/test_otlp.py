"""Events as OpenTelemetry traces: valid for OpenTelemetry, and read again the same events."""

import base64
import json

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from skilljuror.ingest.logs import events_of
from tests.support import places
from tests.support.cli_process import call

CASES = (
    "otlp/recorded",
    "otlp/no-texts",
    "kimi/recorded",
    "codex-rollout/family",
    "claude-session/subagent",
)


def exported(case, folder):
    """The file that `events --otlp` prints for a golden log."""
    (source,) = (places.GOLDENS / case).glob("raw*")
    done = call("events", source, "--otlp")
    assert done.returncode == 0, done.stderr
    path = folder / "traces.jsonl"
    path.write_text(done.stdout, encoding="utf-8")
    return path


def in_base64(value):
    """Ids are hexadecimal in OTLP's JSON, unlike in Protobuf's."""
    if isinstance(value, list):
        return [in_base64(one) for one in value]
    if isinstance(value, dict):
        return {key: base64.b64encode(bytes.fromhex(one)).decode() if key.endswith("Id") else in_base64(one)
                for key, one in value.items()}  # fmt: skip
    return value


@pytest.mark.parametrize("case", CASES)
def test_opentelemetry_reads_every_line(case, tmp_path):
    lines = exported(case, tmp_path).read_text(encoding="utf-8").splitlines()
    for line in lines:
        request = ParseDict(in_base64(json.loads(line)), ExportTraceServiceRequest())
        spans = request.resource_spans[0].scope_spans[0].spans
        assert spans[0].name.startswith("invoke_agent ")
        assert {len(span.span_id) for span in spans} == {8}
        assert len({span.span_id for span in spans}) == len(spans)
        agents = {span.span_id for span in spans if span.name.startswith("invoke_agent")}
        assert all(span.parent_span_id in agents for span in spans[1:])
        for span in (one for one in spans if one.span_id not in agents):
            given = {one.key: one.value.string_value for one in span.attributes}
            assert given["gen_ai.operation.name"] == "execute_tool"
            assert span.name.startswith(
                f"execute_tool {given['gen_ai.tool.name']} {given['gen_ai.skill.name']}"
            )
            assert span.end_time_unix_nano >= span.start_time_unix_nano


@pytest.mark.parametrize("case", CASES)
def test_what_is_exported_is_read_again(case, tmp_path):
    """Searches come back as reads, imports as runs, and listings not at all."""
    kinds = {"search": "read", "import": "exec"}

    def found(path):
        events = [event for run in events_of([path]) for event in run.events if event.counts]
        return sorted(
            (event.agent == "main", event.skill, event.resource, kinds.get(event.kind, event.kind))
            for event in events if event.kind != "list"
        )  # fmt: skip

    (source,) = (places.GOLDENS / case).glob("raw*")
    assert found(exported(case, tmp_path)) == found(source)
