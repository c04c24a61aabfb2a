"""Signs of uptake: values together, output restated, files of scripts used."""
