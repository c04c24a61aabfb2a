"""`python -m skilljuror`."""

from skilljuror.cli.main import main

if __name__ == "__main__":
    main()
