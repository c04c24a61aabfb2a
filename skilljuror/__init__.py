"""skilljuror: how the organisation of an Agent Skill changes what agents do."""

__version__ = "0.1.0"
