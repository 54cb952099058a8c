"""Files `dataset.yaml`: those that the real loader takes, and those that it refuses or drops all samples of."""

TEXT = "sample_type: {__module__: megatron.energon, __class__: TextSample}\n"
CRUDE = "__module__: megatron.energon\n__class__: CrudeWebdataset\n"
TAKEN = (
    TEXT + "field_map: {text: txt}",
    TEXT + "field_map: {text: 'nope,json[text][0]', __key__: txt}\nsubflavors: {a: 1}",
    TEXT.replace("megatron.energon", "megatron.energon.flavors.text") + "field_map: {text: txt}",
    CRUDE + "subflavors: {a: 1}\npart_filter: [txt]",
    "__module__: megatron.energon\n__class__: TextWebdataset\nfield_map: {text: txt}",
    "__module__: megatron.energon\n__class__: StandardWebdatasetFactory\n" + TEXT + "field_map: {text: txt}",
    "sample_type: {__module__: megatron.energon, __class__: Sample}\nfield_map: {}",
    "sample_type: {__module__: megatron.energon, __class__: InterleavedSample}\nfield_map: {sequence: txt}",
)
OWN = (
    "sample_type: {__module__: no.such.module, __class__: Mine}\nfield_map: {anything: txt}",
    "__module__: no.such.module\n__class__: Mine\nanything: {a: 1}",
    TEXT + "sample_loader: {__module__: no.such.module, __function__: f}\npart_filter: [txt]",
)
"""With classes and functions of one's own. Nobody has them here; they are never imported."""
REFUSED = (
    (TEXT + "field_map: {text: txt, label: cls}", "TextSample has no field 'label' (known: text)"),
    (TEXT + "field_map: {}", "its field_map has no text, which every TextSample needs: the loader drops all"),
    (TEXT + "field_map: {text: 1}", "its field_map does not map each field to a text"),
    (TEXT + "field_map: [txt]", "its field_map does not map each field to a text"),
    (TEXT + "field_map: {text: 'txt['}", "field 'text': 'txt[' is no place in a sample"),
    (TEXT, "it has neither a field_map nor a sample_loader"),
    (TEXT + "field_map: {text: txt}\npart_filter: [txt]", "a field_map takes no part_filter"),
    (TEXT + "sample_loader: {__module__: m, __function__: f}", "a sample_loader needs a part_filter"),
    (TEXT + "field_map: {text: txt}\nextra: 1", "the loader takes no 'extra' (remove it)"),
    (
        TEXT.replace("Text", "Txt") + "field_map: {text: txt}",
        "energon has no sample type 'TxtSample' (did you mean",
    ),
    ("sample_type: {__class__: TextSample}\nfield_map: {text: txt}", "class 'TextSample' has no __module__"),
    ("__class__: CrudeWebdataset", "class 'CrudeWebdataset' has no __module__, and the loader needs it"),
    (CRUDE + "field_map: {text: txt}", "crude samples take no field_map"),
    (CRUDE.replace("Crude", "Crud"), "energon has no class 'CrudWebdataset' that loads a dataset (did you mean"),
    (
        TEXT.replace("TextS", "VQAOCRS") + "field_map: {image: png, context: txt, text: txt}",
        "VQAOCRSample is not in megatron.energon (write __module__: megatron.energon.flavors.vqa_and_ocr)",
    ),
    (
        "sample_type: {__module__: megatron.energon.flavors.vqa, __class__: TextSample}\nfield_map: {text: txt}",
        "TextSample is not in megatron.energon.flavors.vqa (write __module__: megatron.energon)",
    ),
    ("a: [", "not valid YAML"),
)
"""Each with the words of its flaw."""
FALLEN_BACK = TEXT.replace("megatron.energon", "megatron.energon.nope") + "field_map: {text: txt}"
"""A module that energon does not have: the loader looks for the class in `megatron.energon`."""
