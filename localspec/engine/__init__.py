"""Models, contexts, vocabulary, chat templates, quantising and devices over llama.cpp.

The only room that knows llama_cpp. Importing it loads nothing; the first model does.
"""

from localspec.engine.context import Context, DecodeFailed
from localspec.engine.model import Interrupted, Model
from localspec.engine.placement import ModelOptions
from localspec.engine.shape import ContextOptions, strict_width
from localspec.engine.vocabulary import Vocabulary

__all__ = [
    "Context",
    "ContextOptions",
    "DecodeFailed",
    "Interrupted",
    "Model",
    "ModelOptions",
    "Vocabulary",
    "strict_width",
]
