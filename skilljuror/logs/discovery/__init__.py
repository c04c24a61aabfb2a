"""Find logs, detect their formats, and join the files of one run."""
