"""The corpora that the package ships, generates or downloads."""
