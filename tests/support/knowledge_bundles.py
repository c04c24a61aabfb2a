"""Small bundles written in the tests themselves."""

from collections.abc import Mapping

from skilljuror.base.skill import Blob, Bundle, Skill


def bundle(files: Mapping[str, str | bytes], name: str = "demo") -> Bundle:
    """A bundle from paths and texts or bytes; every SKILL.md makes a skill."""
    contents = {
        path: one if isinstance(one, bytes) else one.encode() for path, one in files.items()
    }
    blobs = {path: Blob(contents[path]) for path in sorted(contents, key=str.encode)}
    roots = [path for path in blobs if path.endswith("/SKILL.md")]
    skills = tuple(Skill(path.split("/")[-2], path.rsplit("/", 1)[0], path) for path in roots)
    return Bundle(name, blobs, skills)


def skill(body: str, **files: str) -> Bundle:
    """A bundle of one skill "demo" with a frontmatter, a body and other files by path."""
    root = f"---\nname: demo\ndescription: Do a thing. Use when asked.\n---\n{body}"
    return bundle({"demo/SKILL.md": root, **{f"demo/{path}": t for path, t in files.items()}})
