"""Every kind of document there is, for those who write or check schemas.

Knows the documents' classes. Does not know what is in them.
"""

from pydantic import BaseModel

from localspec.report import documents
from localspec.report.bench_documents import BenchDocument
from localspec.report.pair_documents import PAIR_DOCUMENTS
from localspec.report.trace_documents import TraceDocument
from localspec.report.tune_documents import TuneDocument

DOCUMENTS: tuple[type[BaseModel], ...] = (
    *documents.DOCUMENTS,
    *PAIR_DOCUMENTS,
    TraceDocument,
    BenchDocument,
    TuneDocument,
)
