/**
 * The name of a book, which holds all that is reserved of one tenant or pool. It is the prefix of the book's keys, with
 * a hash tag, so that a Cluster keeps them on one node for one script.
 */
export type Book = string;

/** Every Redis key of this library. */
export interface AdmissionNames {
  /** The book in which the limits of a tenant and its keys are counted. */
  tenantBook(tenant: string): Book;
  /** The book in which the places of a pool are counted. */
  poolBook(pool: string): Book;
  /**
   * Zset of the books in use, each with the instant (Redis time) until which a process has promised to look after it.
   */
  readonly booksInUse: string;
}

/** The names under one prefix; two installations in one database need two prefixes. */
export function admissionNames(prefix: string): AdmissionNames {
  return {
    // Names are encoded, because a brace or colon in one would lead to another book or to the keys of another name.
    tenantBook: (tenant) => `${prefix}:{t:${encodeURIComponent(tenant)}}`,
    poolBook: (pool) => `${prefix}:{p:${encodeURIComponent(pool)}}`,
    // The name is older than that of the books, and processes of earlier versions go by it.
    booksInUse: `${prefix}:admission:slots`,
  };
}

/** The keys of a book with which every script works: see scripts/ledger.lua. */
export function bookKeys(book: Book): [open: string, records: string, mean: string] {
  return [`${book}:open`, `${book}:records`, meanKey(book)];
}

/** Key of the mean service time of a pool. */
export function meanKey(book: Book): string {
  return countKey(book, 'service', 'mean');
}

/** Key of a limit's count for one API key of a tenant, or for all of its keys together if `keyId` is absent. */
export function policyKey(book: Book, limit: string, keyId: string | undefined): string {
  return countKey(book, limit, keyId === undefined ? 'tenant' : `key:${encodeURIComponent(keyId)}`);
}

/** Key of a limit's count in one scope, such as `sluice:{t:acme}:concurrency:key:key_1`. */
export function countKey(book: Book, limit: string, scope: string): string {
  return `${book}:${limit}:${scope}`;
}
