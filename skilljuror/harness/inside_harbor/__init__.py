"""Modules that run in Harbor's own Python, where skilljuror is not installed.

Only this folder is on its PYTHONPATH: the modules use the standard library and `harbor`, and have
long names that shadow no others.
"""
