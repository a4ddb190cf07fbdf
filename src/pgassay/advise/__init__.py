"""From a load to a configuration, with its certainty: which settings matter, what to set them to, and proof of it.

The core is pure: `knowledge`, `space`, `screening`. A search only proposes, and nothing that it measured
is evidence: what is recommended is measured again, in studies of the lab. See docs/advice.md.
"""
