"""Commands and code that are made to cost time or memory: they are read all the same, and soon."""

import pytest

from skilljuror.events.commands.pipeline import command_accesses
from skilljuror.events.python.file_accesses import python_accesses
from skilljuror.events.resolution.call_normalisation import with_forward_slashes
from skilljuror.events.shell.wrappers import unwrap
from tests.support.generated_texts import SIZE, soon
from tests.support.shell_texts import read_shell


def accesses(command):
    commands = unwrap(read_shell(with_forward_slashes(command), "/w", "/h"), "/h")
    return command_accesses(list(commands), "/h")


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        ">a ", "> ", "{ ", "if ", "a=$a$a\n", "a=$a$a;b $a\n", "cd a\n", "read x\n", "|xargs a", "a\n",
        "'", '"', "`a`", "$(", "((", "<<a\n", "\\", " ", "\n", "bash -c '", "for a in b c; do ",
        "a|", ")", "x=(", "a[1]", "<<<", "\0", "\0 ", "{a,b}", "{a,b} ", "{1..1000} ", "{a,", "${", "${a:-", "[[ ", "case x in ", "a && (",
        "a+=(b)\n", "x ${a[@]}\n", "f(){ f; f; }; f\n", "a=$(b)\n", "(a)\n", "a <(b)\n", "cat <<E\n$a $(b)\nE\n", "\\\n", "é",
    ],
)  # fmt: skip
def test_a_command_of_one_thing_over_and_over_is_read_soon(unit):
    found = soon(accesses, f"cat /s/SKILL.md\n{unit * (SIZE // len(unit))}")
    assert found[0].path == "/s/SKILL.md"


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "a = a + a\n", 'a = f"{a}{a}"\n', "a = os.path.join(a, a)\n", "a = Path(a) / a\n", "print(open(a).read())\n",
        'sys.path.append("/q")\nimport zz\n', "\n", " ",
    ],
)  # fmt: skip
def test_code_of_one_thing_over_and_over_is_read_soon(unit):
    code = f'open("SKILL.md")\na = "aaaa"\n{unit * (SIZE // len(unit))}'
    found = soon(lambda text: python_accesses(text, "/s", "/h"), code)
    assert found[0].path == "/s/SKILL.md"
    assert soon(lambda text: python_accesses(text, "/s", "/h"), f"{code}\n((") == []


def test_texts_that_double_fill_no_memory():
    code = 'a0 = "aaaa"\n' + "".join(f"a{i + 1} = a{i} + a{i}\n" for i in range(60))
    assert python_accesses(f"{code}open(a3)\nopen(a60)", "/s", "/h")[0].path == "/s/" + "a" * 32
    shell = "a=aaaa\n" + "a=$a$a\n" * 60
    assert [one.path for one in accesses(f"a=aa\na=$a$a\ncat $a.md\n{shell}cat $a")[:1]] == [
        "/w/aaaa.md"
    ]


@pytest.mark.parametrize(
    "unit",
    [
        "find " + "/a " * 20 + "-maxdepth 4 -name x | xargs cat\n", "A=" + "x" * 399 + "; echo ${A%%*y}\n",
        "export A=b; bash -c 'echo $A'\n", 'echo "echo a | bash" | bash\n', "set -- a b c; for f; do a; done\n",
        "node -e \"p='/s/x.md'; q=process.env.A+'/y.md'; read(p)\"\n",
    ],
)  # fmt: skip
def test_paths_that_are_handed_on_over_and_over_are_read_soon(unit):
    found = soon(accesses, f"cat /s/SKILL.md\n{unit * (SIZE // len(unit))}")
    assert found[0].path == "/s/SKILL.md"
