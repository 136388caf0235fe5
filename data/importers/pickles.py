"""Pickles and numpy files from elsewhere, through a list of what they may name: plain containers and numpy arrays.

Anything else is refused by its name, and nothing of it runs. (The format lets a file name any function and have it called
while it is read, which is why ``pickle.load`` is never used here.)
"""

from __future__ import annotations

import pickle
import pickletools
import zipfile
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

_ALLOWED: Final = frozenset(
    {
        ("collections", "OrderedDict"),
        ("collections", "deque"),
        ("datetime", "datetime"),
        ("_codecs", "encode"),  # how protocol 2 writes bytes
        *((module, name) for module in ("builtins", "__builtin__") for name in ("set", "frozenset", "complex", "bytearray", "slice")),
        ("numpy", "ndarray"),
        ("numpy", "dtype"),
        *((f"numpy.{core}.multiarray", name) for core in ("core", "_core") for name in ("_reconstruct", "scalar")),
        *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
    }
)
LARGEST_BYTES: Final = 2 * 1024**3
_HEADLESS_STARTS: Final = b"(]})cl"
"""How a pickle of protocol 0 or 1, which does not say what it is, may begin; JSON begins with none of these."""
_SURE_OPCODES: Final = 20


class UnsafePickle(ValueError):
    """The file names something that is neither a plain container nor a numpy array."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) not in _ALLOWED:
            raise UnsafePickle(f"names {module_name}.{global_name}: only plain containers and numpy arrays are read; nothing was run")
        if module_name.startswith("numpy.core"):  # numpy 1 wrote the old name
            module_name = module_name.replace("numpy.core", "numpy._core", 1)
        return super().find_class(module_name, global_name)


def read_pickle(path: Path) -> Any:
    """What a pickle holds. Raises UnsafePickle, ValueError for one that is damaged, OSError."""
    with path.open("rb") as file:
        return _load(file, path.name)


def looks_like_pickle(path: Path) -> bool:
    """Whether a file is a pickle of protocol 0 or 1, by how it begins. Nothing of it is run. Raises OSError."""
    with path.open("rb") as file:
        if (first := file.read(1)) == b"" or first not in _HEADLESS_STARTS:
            return False
        file.seek(0)
        try:
            return bool(list(islice(pickletools.genops(file), _SURE_OPCODES)))
        except ValueError:
            return False


def read_npz(path: Path) -> dict[str, Any]:
    """The arrays of an ``.npz`` by name; arrays of objects through the same list. Raises as ``read_pickle``."""
    found: dict[str, Any] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > LARGEST_BYTES:
                raise ValueError(f"{path.name}: larger than {LARGEST_BYTES / 1e9:.0f} GB")
            for name in archive.namelist():
                with archive.open(name) as file:
                    found[name.removesuffix(".npy")] = _read_array(file, f"{path.name}: {name}")
    except (OSError, MemoryError, ValueError):
        raise
    except Exception as error:  # a damaged archive raises almost anything: BadZipFile, zlib.error, EOFError, NotImplementedError ...
        raise ValueError(f"{path.name}: is not a whole .npz file ({type(error).__name__}: {error})") from error
    return found


def _read_array(file: IO[bytes], what: str) -> Any:
    version = np.lib.format.read_magic(file)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = header(file)
    if dtype.hasobject:
        values = _load(file, what)
        if not isinstance(values, np.ndarray):
            raise ValueError(f"{what}: holds no array")
        return values.reshape(shape)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    count = int(np.prod(shape, dtype=np.int64))
    content = file.read(count * dtype.itemsize)
    if len(content) < count * dtype.itemsize:
        raise ValueError(f"{what}: ends after {len(content)} of {count * dtype.itemsize} bytes")
    return np.frombuffer(content, dtype, count).reshape(shape, order="F" if fortran else "C")


def _load(file: IO[bytes], what: str) -> Any:
    try:
        return _Unpickler(file).load()
    except UnsafePickle as error:
        raise UnsafePickle(f"{what}: {error}") from error
    except Exception as error:  # a damaged pickle raises almost anything
        raise ValueError(f"{what}: cannot be read as a pickle ({type(error).__name__}: {error})") from error
