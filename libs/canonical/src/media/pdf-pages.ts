import { byteLengthOf, bytesAt } from './base64-bytes.ts';
import { objectStreams } from './object-streams.ts';

/** A PDF need not begin with its first byte. */
const signatureBytes = 1024;
/** Writers put the root of the page tree near the beginning or, mostly, near the end. */
const headBytes = 4096;
const tailBytes = 32_768;

/** What a file made for the web says at its beginning, within so many characters. */
const forTheWeb = '/Linearized';
const forTheWebLength = 256;
const allPages = /\/N\s{1,8}(\d{1,6})/;
const pageTree = /\/Type\s{0,8}\/Pages\b/;
const pageCount = /\/Count\s{1,8}(\d{1,6})/;

/**
 * A shorter file has few pages, and a prompt could hold very many of them. Made to be dear, 32 MiB of files of this
 * length take 0.6 s where they took 0.2 s; an ordinary one takes 0.2 ms.
 */
const inflatedFromBytes = 65_536;

/**
 * How many pages a PDF in base64 says that it has: 0 if it does not say so where we look, absent if it is no PDF. Never
 * throws, and decodes at most its first 4 and its last 32 KiB, and a few compressed objects in them.
 */
export function pdfPages(base64: string): number | undefined {
  const head = bytesAt(base64, 0, headBytes).toString('latin1');
  if (!head.slice(0, signatureBytes).includes('%PDF-')) return undefined;
  const length = byteLengthOf(base64);
  const tailAt = Math.max(0, length - tailBytes);
  const tail = length > headBytes ? bytesAt(base64, tailAt, tailBytes).toString('latin1') : '';
  const said = Math.max(linearizedPages(head), mostPages(head), mostPages(tail));
  if (said > 0 || length < inflatedFromBytes) return said;
  return compressedPages(tail) || compressedPages(head);
}

function linearizedPages(head: string): number {
  const at = head.indexOf(forTheWeb);
  return at === -1 ? 0 : numberIn(head.slice(at, at + forTheWebLength), allPages);
}

/** Of the nodes of a page tree, the root has the most pages. Outlines have counts, too. */
function mostPages(text: string): number {
  let most = 0;
  for (const object of text.split('endobj')) {
    if (pageTree.test(object)) most = Math.max(most, numberIn(object, pageCount));
  }
  return most;
}

/**
 * TeX, Ghostscript, Cairo and qpdf compress the page tree. Its root alone has no parent, and may be in another stream
 * than its branches.
 */
function compressedPages(piece: string): number {
  for (const objects of objectStreams(piece)) {
    for (const node of objects.split('>>')) {
      if (pageTree.test(node) && !node.includes('/Parent')) return numberIn(node, pageCount);
    }
  }
  return 0;
}

function numberIn(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1] ?? 0);
}
