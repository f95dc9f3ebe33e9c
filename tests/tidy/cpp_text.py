"""Just enough reading of C++ for the style checks: comments, strings, includes, functions, tests.

No compiler is asked, so that the checks need nothing but Python and take a second.
"""
import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r'R"(?P<delimiter>[^()\\\s]{0,16})\((?P<raw>.*?)\)(?P=delimiter)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"
    r"|//(?:\\\n|[^\n])*"
    r"|/\*.*?\*/",
    re.DOTALL,
)
_PYTHON_RAW = re.compile(r"\br(\"\"\"|''')(?P<raw>.*?)\1", re.DOTALL)
_BEFORE_SIGNATURE = re.compile(r"\s*(?:(?:public|private|protected)\s*:\s*)*")


@dataclass(frozen=True)
class Function:
    name: str
    first_line: int
    last_line: int
    body: str

    @property
    def lines(self):
        return self.last_line - self.first_line + 1


def _blank(text):
    """The same text with everything but line ends turned into spaces."""
    return re.sub(r"[^\n]", " ", text)


def without_comments_and_strings(text):
    """Code only; strings become "" padded with spaces, comments spaces, so that positions stay."""

    def replace(match):
        token = match.group(0)
        if token.startswith("/"):
            return _blank(token)
        quote = "'" if token[0] == "'" else '"'
        return quote + _blank(token[1:-1]) + quote

    return _TOKEN.sub(replace, text)


def raw_string_lines(text, is_python=False):
    """Numbers of the lines inside a raw string (Python's: of three quotes): data, not code."""
    lines = set()
    for match in (_PYTHON_RAW if is_python else _TOKEN).finditer(text):
        if match.group("raw") is not None:
            first = text.count("\n", 0, match.start()) + 1
            lines.update(range(first, first + match.group(0).count("\n") + 1))
    return lines


def includes(text):
    """(line number, spelled path, is_quoted) of each #include."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if match:
            found.append((number, match.group(2), match.group(1) == '"'))
    return found


def _without_preprocessor(code):
    # Macros that stand for pragmas, too: a target region's opening is no part of what follows.
    code = re.sub(r"^QUALIA_TARGET_(?:BEGIN\([^)]*\)|END)$", lambda m: _blank(m.group(0)), code,
                  flags=re.M)
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: _blank(m.group(0)), code, flags=re.M)


def _kind_of_block(head):
    """What a brace after `head` opens at namespace or class scope."""
    head = re.sub(r"\[\[.*?\]\]|alignas\s*\([^()]*\)|__attribute__\s*\(\(.*?\)\)", " ", head)
    head = re.sub(r"^\s*(template\s*<.*?>\s*(?=class|struct|union))", " ", head, flags=re.DOTALL)
    head = re.sub(r"^\s*(?:public|private|protected)\s*:", " ", head).strip()
    if re.match(r"(inline\s+)?namespace\b", head) or re.fullmatch(r'extern\s*"\s*"', head):
        return "scope"
    if re.match(r"(typedef\s+)?(class|struct|union)\b", head) and not re.search(
        r"\)\s*(const|noexcept|override|final)*$", head
    ):
        return "scope"
    return "function" if "(" in head else "other"


def _name_of(head):
    head = re.sub(r"\[\[.*?\]\]", " ", head, flags=re.DOTALL)
    test = re.search(r"\b(?:TYPED_)?TEST(?:_F|_P)?\s*\(([^()]*)\)", head)
    if test:
        return ".".join(part.strip() for part in test.group(1).split(","))
    match = re.search(r"([~\w:]+|operator\s*[^\s(]+)\s*\(", head)
    return match.group(1) if match else head.strip()[:40]


def functions(text):
    """Every function defined at namespace or class scope, from its signature to its last brace."""
    code = _without_preprocessor(without_comments_and_strings(text))
    found, scopes, head_start, index = [], 0, 0, 0
    while index < len(code):
        char = code[index]
        if char == ";":
            head_start = index + 1
        elif char == "}":
            scopes -= 1
            head_start = index + 1
        elif char == "{":
            head = code[head_start:index]
            kind = _kind_of_block(head)
            if kind == "scope":
                scopes += 1
                head_start = index + 1
            else:
                end = _closing_brace(code, index)
                if kind == "function":
                    start = head_start + re.match(_BEFORE_SIGNATURE, head).end()
                    found.append(
                        Function(_name_of(head), code.count("\n", 0, start) + 1,
                                 code.count("\n", 0, end) + 1, code[index:end + 1]))
                index = end
                # A member's initialiser is followed by the rest of its constructor.
                if not re.match(r"\s*[,{]", code[end + 1:end + 200]):
                    head_start = end + 1
        index += 1
    return found


def _closing_brace(code, opening):
    depth = 0
    for index in range(opening, len(code)):
        if code[index] == "{":
            depth += 1
        elif code[index] == "}":
            depth -= 1
            if depth == 0:
                return index
    return len(code) - 1


def tests(text):
    """(line number, suite, name, body) of each GoogleTest case."""
    found = []
    for function in functions(text):
        line = text.split("\n")[function.first_line - 1]
        if re.match(r"\s*(?:TYPED_)?TEST(?:_F|_P)?\s*\(", line) and "." in function.name:
            suite, name = function.name.split(".", 1)
            found.append((function.first_line, suite, name, function.body))
    return found
