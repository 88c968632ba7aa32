/** The registered codings, besides `identity`, that a body can have. */
const codings: ReadonlySet<string> = new Set([
  'aes128gcm',
  'br',
  'compress',
  'dcb',
  'dcz',
  'deflate',
  'exi',
  'gzip',
  'pack200-gzip',
  'x-compress',
  'x-gzip',
  'zstd',
]);

/**
 * Whether a `content-encoding` says that the body must be unpacked before it is read. Some servers put the charset
 * there (`utf-8`), or `none`: their bodies are plain. Absent or empty means plain, too.
 */
export function isEncoded(contentEncoding: string | undefined): boolean {
  return (contentEncoding ?? '').split(',').some((coding) => codings.has(coding.trim().toLowerCase()));
}
