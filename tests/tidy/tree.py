"""The source tree as the style checks see it: which files there are, and which rooms."""
import pathlib
import re
import subprocess

CODE_SUFFIXES = {".h", ".cpp", ".c"}
TEXT_SUFFIXES = CODE_SUFFIXES | {
    ".py", ".sh", ".cmake", ".txt", ".md", ".json", ".1", ".bash", ".zsh", ".fish", ".in"}
TEXT_NAMES = {"Makefile", "LAYERS", "CMakeLists.txt", "NOTICE", "run"}
NOT_OURS = ("tests/data/", "fuzz/corpus/", "fuzz/seeds/")  # data, kept byte for byte


class Tree:
    """Paths are relative to the root and use forward slashes."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.paths = sorted(path for path in self._list() if not path.startswith(NOT_OURS))
        self._texts = {}

    def _list(self):
        if (self.root / ".git").exists():
            listed = subprocess.run(
                ["git", "-C", str(self.root), "ls-files", "-co", "--exclude-standard", "-z"],
                check=True, capture_output=True).stdout.decode()
            return [path for path in listed.split("\0") if path and (self.root / path).is_file()]
        every = (path for path in self.root.rglob("*") if path.is_file())
        names = (path.relative_to(self.root).as_posix() for path in every)
        return [name for name in names if not name.startswith(("build/", "dist/"))]

    def text(self, path):
        if path not in self._texts:
            self._texts[path] = (self.root / path).read_bytes().decode("utf-8", "surrogateescape")
        return self._texts[path]

    def code(self):
        return [path for path in self.paths if pathlib.PurePosixPath(path).suffix in CODE_SUFFIXES]

    def prose_and_code(self):
        return [path for path in self.paths
                if pathlib.PurePosixPath(path).suffix in TEXT_SUFFIXES
                or pathlib.PurePosixPath(path).name in TEXT_NAMES]

    def has(self, path):
        return (self.root / path).is_file()


def read_layers(text):
    """src/LAYERS as {room: [rooms it may include]}, in the file's order."""
    layers = {}
    for line in text.split("\n"):
        line = line.split("#", 1)[0].strip()
        if line:
            room, _, uses = line.partition(":")
            layers[room.strip()] = uses.split()
    return layers


def room_of(path, layers):
    """The room that a path below src/ lies in: the longest room name that begins it."""
    folder = path.rsplit("/", 1)[0] if "/" in path else ""
    while folder:
        if folder in layers:
            return folder
        folder = folder.rpartition("/")[0]
    return None


def room_declarations(text):
    """(room, [rooms under USES]) of each qualia_room(...) in a CMakeLists.txt."""
    found = []
    text = re.sub(r"#[^\n]*", "", text)
    for match in re.finditer(r"\bqualia_room\s*\(([^)]*)\)", text):
        words, key, values = match.group(1).split(), None, {}
        for word in words:
            if word in ("NAME", "USES", "LINKS", "SEPARATE"):
                key = word
            else:
                values.setdefault(key, []).append(word)
        found.append((" ".join(values.get("NAME", [])), values.get("USES", [])))
    return found
