"""Write the shipped JSON Schemas anew: `python -m localspec.report`, after a document changed."""

import sys

from localspec.report.kinds import DOCUMENTS
from localspec.report.write import write_schemas

if __name__ == "__main__":
    for path in write_schemas(DOCUMENTS):
        sys.stdout.write(f"{path}\n")
