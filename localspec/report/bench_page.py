"""A bench as one self-contained page: no script, nothing fetched, light and dark.

Knows the document and the template.
"""

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from localspec import __version__
from localspec.core.counted import counted
from localspec.report.bench_charts import (
    acceptance_chart,
    cost_chart,
    gamma_chart,
    kinds_chart,
    streams_chart,
    time_chart,
)
from localspec.report.bench_documents import BenchDocument
from localspec.report.bench_text import (
    arm_name,
    arm_names,
    first,
    stream_names,
    stream_rows,
    use_of,
)
from localspec.report.trace_words import PAGE


def bench_page(document: BenchDocument) -> str:
    """Give the page of a bench as HTML."""
    environment = Environment(
        loader=FileSystemLoader(PAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    charts = {
        "kinds": kinds_chart(document),
        "costs": cost_chart(document),
        "gamma": gamma_chart(document),
        "acceptance": acceptance_chart(document),
        "time": time_chart(document),
        "streams": streams_chart(document),
    }
    return environment.get_template("bench.html.j2").render(
        doc=document,
        charts=charts,
        arms=arm_names(document.kinds),
        arm_name=arm_name,
        counted=counted,
        use_of=use_of,
        first=first,
        stream_names=stream_names(document),
        stream_rows=stream_rows(document),
        version=__version__,
    )
