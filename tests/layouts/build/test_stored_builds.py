"""Builds of many sources are rows at once, without a study."""

from functools import partial

from skilljuror.base.errors import SkilljurorError
from skilljuror.base.files import StudyFolder
from skilljuror.layouts.build.build import build_many, build_named
from skilljuror.store import open_read
from skilljuror.store.study_files import store_builds
from tests.support.bundle_corpus import write

QUERY = (
    "SELECT build, variant, verdict FROM variants WHERE parent IS NOT NULL ORDER BY build, variant"
)


def rows(folder):
    with open_read(StudyFolder(folder).database) as reader:
        return list(reader.rows(QUERY).rows)


def test_every_build_has_its_rows_and_a_second_build_replaces_them(tmp_path):
    sources = [write("report", tmp_path / "a"), write("code", tmp_path / "b")]
    (tmp_path / "empty").mkdir()
    out = tmp_path / "out"
    done = dict(
        build_many(
            [*sources, tmp_path / "empty"], out, partial(build_named, variants=("baseline",))
        )
    )
    built = [name for name, one in done.items() if not isinstance(one, SkilljurorError)]
    assert store_builds(out, built) == out / "study.duckdb"
    assert rows(out) == [("code", "baseline", "pass"), ("report", "baseline", "pass")]
    again = dict(build_many(sources[:1], out, partial(build_named, variants=("pd",))))
    store_builds(out, again)
    assert rows(out) == [
        ("code", "baseline", "pass"),
        ("report", "pd", "pass"),
    ]
