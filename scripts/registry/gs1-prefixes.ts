/** Prefixes of GS1 that number trade items, with the country of the member organisation (ISO 3166-1; `ZZ`: none). */

export interface Gs1Prefix {
  /** First and last of the range, each of three digits. */
  readonly first: number;
  readonly last: number;
  readonly cc: string;
}

/**
 * As GS1 publishes it (https://www.gs1.org/standards/id-keys/company-prefix). Left out: numbers inside a shop (020-029,
 * 040-049, 200-299), coupons and refunds (050-059, 980-999), ISSN and ISBN (977-979), what has no item (950, 951, 960-969).
 */
const TABLE = `
000-019 US  030-039 US  060-139 US  300-379 FR  380 BG  383 SI  385 HR  387 BA  389 ME  400-440 DE
450-459 JP  460-469 RU  470 KG  471 TW  474 EE  475 LV  476 AZ  477 LT  478 UZ  479 LK  480 PH  481 BY
482 UA  483 TM  484 MD  485 AM  486 GE  487 KZ  488 TJ  489 HK  490-499 JP  500-509 GB  520-521 GR
528 LB  529 CY  530 AL  531 MK  535 MT  539 IE  540-549 BE  560 PT  569 IS  570-579 DK  590 PL  594 RO
599 HU  600-601 ZA  603 GH  604 SN  608 BH  609 MU  611 MA  613 DZ  615 NG  616 KE  618 CI  619 TN
620 TZ  621 SY  622 EG  624 LY  625 JO  626 IR  627 KW  628 SA  629 AE  640-649 FI  690-699 CN
700-709 NO  729 IL  730-739 SE  740 GT  741 SV  742 HN  743 NI  744 CR  745 PA  746 DO  750 MX
754-755 CA  759 VE  760-769 CH  770-771 CO  773 UY  775 PE  777 BO  778-779 AR  780 CL  784 PY  786 EC
789-790 BR  800-839 IT  840-849 ES  850 CU  858 SK  859 CZ  860 RS  865 MN  867 KP  868-869 TR
870-879 NL  880 KR  884 KH  885 TH  888 SG  890 IN  893 VN  896 PK  899 ID  900-919 AT  930-939 AU
940-949 NZ  952 ZZ  955 MY  958 MO
`;

/** In ascending order. */
export const GS1_PREFIXES: readonly Gs1Prefix[] = [...TABLE.matchAll(/(\d{3})(?:-(\d{3}))? ([A-Z]{2})/g)].map(
  ([, first, last = first, cc]) => ({ first: Number(first), last: Number(last), cc: cc! }),
);

/** Every prefix by itself, in ascending order. */
export function prefixesBetween(low: number, high: number): { prefix: string; cc: string }[] {
  return GS1_PREFIXES.flatMap(({ first, last, cc }) =>
    Array.from({ length: last - first + 1 }, (_, i) => ({ prefix: first + i, cc })),
  )
    .filter(({ prefix }) => prefix >= low && prefix <= high)
    .map(({ prefix, cc }) => ({ prefix: String(prefix).padStart(3, '0'), cc }));
}
