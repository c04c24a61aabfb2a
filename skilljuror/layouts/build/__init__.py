"""Build layout variants of a Skill, gate them and record people's decisions."""
