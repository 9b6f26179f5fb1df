"""`python -m localspec`: the same as the command. Knows nothing else."""

from localspec.cli.main import run

if __name__ == "__main__":
    run()
