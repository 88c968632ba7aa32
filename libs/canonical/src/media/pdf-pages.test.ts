import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pdfPages } from './pdf-pages.ts';

const base64 = (text: string) => Buffer.from(text, 'latin1').toString('base64');
const start = '%PDF-1.7\n%\xe2\xe3\xcf\xd3\n';
const object = (id: number, dictionary: string) => `${id} 0 obj\n<<${dictionary}>>\nendobj\n`;
const outlines = object(5, '/Type /Outlines /First 6 0 R /Count 900');
const tree = object(2, '/Type /Pages\n/Count 12\n/Kids [3 0 R 4 0 R]');
const branch = object(3, '/Kids[7 0 R 8 0 R]/Count 6/Type/Pages/Parent 2 0 R');
const content = `9 0 obj\n<</Length 200000>>\nstream\n${'\x9c'.repeat(200_000)}\nendstream\nendobj\n`;
const end = 'xref\n0 9\ntrailer\n<</Root 1 0 R>>\nstartxref\n9\n%%EOF\n';

describe('the pages of a PDF', () => {
  it('are those of the root of its page tree, at its end or its beginning', () => {
    expect(pdfPages(base64(start + content + outlines + branch + tree + end))).toBe(12);
    expect(pdfPages(base64(start + tree + branch + content + outlines + end))).toBe(12);
  });

  it('are those of a root anywhere in a short file', () => {
    for (const length of [3900, 3980, 4020, 4050, 15_000]) {
      const text = `9 0 obj\n(${'x'.repeat(length)})\nendobj\n`;
      expect(pdfPages(base64(start + text + tree + text + end))).toBe(12);
    }
  });

  it('are what a PDF made for the web begins with', () => {
    const first = object(1, '/Linearized 1/L 7945/O 9/E 3524/N 34/T 7656/H [ 451 137]');
    expect(pdfPages(base64(start + first + content + end))).toBe(34);
  });

  describe('that are compressed', () => {
    const inStream = (...objects: string[]) => {
      const data = deflateSync(Buffer.from(`2 0 3 45 ${objects.join(' ')}`, 'latin1')).toString('latin1');
      const dictionary = `<<\n/Type /ObjStm\n/N 2\n/First 9\n/Length ${data.length}\n/Filter /FlateDecode\n>>`;
      return `8 0 obj\n${dictionary}\nstream\n${data}\nendstream\nendobj\n`;
    };
    const root = '<< /Type /Pages /Count 12 /Kids [3 0 R 4 0 R] >>';
    const limb = '<< /Type /Pages /Count 7 /Parent 2 0 R /Kids [7 0 R] >>';
    const titles = '<< /Type /Outlines /First 6 0 R /Count 900 >>';
    const lengths = (count: number) =>
      Array.from({ length: count }, (_, index) => `<< /Length ${Math.imul(index, 0x9e3779b1) >>> 0} >>`);

    it('are those of the root of the page tree, in a stream at the end or the beginning', () => {
      expect(pdfPages(base64(start + content + inStream(limb, root, titles) + end))).toBe(12);
      expect(
        pdfPages(base64(start + content + inStream(root) + inStream(limb) + inStream(titles) + end)),
      ).toBe(12);
      const older = inStream(root.replace('12', '34'));
      expect(pdfPages(base64(start + older + content + older + inStream(root) + end))).toBe(12);
      const first = inStream(root, ...lengths(1_500));
      expect(pdfPages(base64(start + first + content + end))).toBe(12);
    });

    it('are not known without the root, nor from a stream that cannot be read or swells, nor in a short file', () => {
      const others = [
        inStream(limb),
        inStream(root).replace(/stream\n./, 'stream\ny'),
        inStream(root, ' '.repeat(20_000)),
        inStream(root, ...lengths(3_000)),
        `${'x'.repeat(300)}/ObjStm${' '.repeat(300)}stream`,
        '/ObjStm stream',
      ];
      expect(pdfPages(base64(start + inStream(root) + ' '.repeat(60_000) + end))).toBe(0);
      for (const other of others) expect(pdfPages(base64(start + content + other + end))).toBe(0);
    });
  });

  it('are not known if they stand elsewhere', () => {
    expect(pdfPages(base64(start + content + tree + content + end))).toBe(0);
    expect(pdfPages(base64(start + content + outlines + end))).toBe(0);
    expect(pdfPages(base64(start))).toBe(0);
  });

  it('count only of a PDF', () => {
    expect(pdfPages('')).toBeUndefined();
    expect(pdfPages(base64(`PK\x03\x04${tree}`))).toBeUndefined();
    expect(pdfPages(base64(`${' '.repeat(1000)}${start}${tree}`))).toBe(12);
    expect(pdfPages(base64(`${' '.repeat(2000)}${start}${tree}`))).toBeUndefined();
  });

  it('never throw', () => {
    const word = fc.constantFrom('/Type', '/Pages', '/Count', '/Linearized', '/N', ' ', '12', 'endobj', '>>');
    fc.assert(
      fc.property(fc.array(word, { maxLength: 40 }), (words) => {
        expect(pdfPages(base64(start + words.join('')))).toBeGreaterThanOrEqual(0);
      }),
    );
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (data) => void pdfPages(data)));
  });
});
