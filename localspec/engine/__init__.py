"""Models, contexts, vocabulary, chat templates, quantising and devices over llama.cpp.

The only room that knows llama_cpp. Importing it loads nothing; the first model does.
"""

from localspec.engine.context import Context
from localspec.engine.model import Model
from localspec.engine.passes import DecodeFailed
from localspec.engine.placement import ModelOptions
from localspec.engine.shape import ContextOptions, strict_width
from localspec.engine.shared_context import MOST_SEQUENCES, SharedContext
from localspec.engine.vocabulary import Vocabulary
from localspec.engine.weights import Interrupted

__all__ = [
    "MOST_SEQUENCES",
    "Context",
    "ContextOptions",
    "DecodeFailed",
    "Interrupted",
    "Model",
    "ModelOptions",
    "SharedContext",
    "Vocabulary",
    "strict_width",
]
