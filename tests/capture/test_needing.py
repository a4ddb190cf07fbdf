"""What of a dump needs an extension, by pg_restore's verbose list, from pg_dump 15 (shortened)."""

from pgassay.capture.dump import Needing, needing

CONTENTS = """;
; Archive created at 2026-11-25 21:15:24 UTC
;     Dump Version: 1.14-0
;
3526; 0 0 ENCODING - ENCODING
3; 3079 16465 EXTENSION - hstore
3532; 0 0 COMMENT - EXTENSION hstore
;	depends on: 3
2; 3079 16384 EXTENSION - pg_trgm
3533; 0 0 COMMENT - EXTENSION pg_trgm
;	depends on: 2
4; 3079 16593 EXTENSION - file_fdw
2203; 1417 16629 SERVER - x app
;	depends on: 4 4 4
222; 1259 16630 FOREIGN TABLE public ff app
;	depends on: 2203
219; 1259 16611 TABLE public d app
;	depends on: 2
218; 1259 16604 TABLE public h app
;	depends on: 3 3 3
217; 1259 16597 TABLE public orders app
220; 1259 16620 VIEW public v app
;	depends on: 2 217
221; 1259 16624 VIEW public w app
;	depends on: 220
3523; 0 16611 TABLE DATA public d app
;	depends on: 219
3371; 2606 16603 CONSTRAINT public orders orders_pkey app
;	depends on: 217
3372; 1259 16619 INDEX public trgm app
;	depends on: 2 2 217
3534; 0 0 COMMENT public INDEX trgm app
;	depends on: 3372
3535; 0 0 TABLE DATA public codes_of_the_extension app
;	depends on: 4
"""


def found(*extensions: str) -> Needing:
    return needing(CONTENTS.splitlines(), extensions)


def numbers(told: Needing) -> list[int]:
    return [int(line.partition(";")[0]) for line in told.lines]


def test_a_foreign_server_goes_with_its_tables_and_the_extensions_own_rows() -> None:
    told = found("file_fdw")
    assert numbers(told) == [4, 2203, 222, 3535]
    assert told.objects == ("SERVER - x", "FOREIGN TABLE public ff")
    assert told.tables == {}


def test_what_needs_it_at_second_hand_goes_too_and_a_table_is_named() -> None:
    told = found("pg_trgm", "hstore")
    assert numbers(told) == [3, 3532, 2, 3533, 219, 218, 220, 221, 3523, 3372, 3534]
    assert told.objects == ("TABLE public d", "TABLE public h", "VIEW public v", "VIEW public w", "INDEX public trgm")
    assert told.tables == {"pg_trgm": ("public.d",), "hstore": ("public.h",)}


def test_an_extension_that_the_dump_lacks_takes_nothing_with_it() -> None:
    assert found("postgis") == Needing(("postgis",), (), {})
