"""Language codes of crawls as BCP 47 tags: where a language has a code of two letters, BCP 47 takes it."""

_PAIRS = """
aar aa abk ab afr af aka ak amh am ara ar asm as aym ay aze az bak ba bel be ben bn bih bh bis bi bod bo bos bs bre br
bul bg cat ca ces cs cos co cym cy dan da deu de div dv dzo dz ell el eng en epo eo est et eus eu ewe ee fao fo fas fa
fij fj fin fi fra fr fry fy ful ff gla gd gle ga glg gl glv gv grn gn guj gu hat ht hau ha heb he hin hi hrv hr hun hu
hye hy ibo ig iku iu ile ie ina ia ind id ipk ik isl is ita it jav jv jpn ja kal kl kan kn kas ks kat ka kaz kk khm km
kik ki kin rw kir ky kor ko kur ku lao lo lat la lav lv lin ln lit lt ltz lb lug lg mal ml mar mr mkd mk mlg mg mlt mt
mon mn mri mi msa ms mya my nau na nav nv nde nd nep ne nld nl nno nn nob nb nor no nya ny oci oc ori or orm om pan pa
pol pl por pt pus ps que qu roh rm ron ro run rn rus ru sag sg san sa sin si slk sk slv sl sme se smo sm sna sn snd sd
som so sot st spa es sqi sq srp sr ssw ss sun su swa sw swe sv tam ta tat tt tel te tgk tg tgl tl tha th tir ti ton to
tsn tn tso ts tuk tk tur tr twi tw uig ug ukr uk urd ur uzb uz ven ve vie vi vol vo wol wo xho xh yid yi yor yo zha za
zho zh zul zu
"""
_CODES = _PAIRS.split()
_TWO = dict(zip(_CODES[::2], _CODES[1::2], strict=True))


def language_tag(code: str) -> str:
    """The BCP 47 tag of an ISO 639-3 code; another code is given back in lower case.

    >>> [language_tag(code) for code in ("eng", "ceb", "zh")]
    ['en', 'ceb', 'zh']
    """
    lower = code.lower()
    return _TWO.get(lower, lower)
