/**
 * The name of a book, which holds all that is reserved of one tenant or pool. It is the prefix of the book's keys, with
 * a hash tag, so that a Cluster keeps them on one node for one script.
 */
export type Book = string;

/** The first part of every Redis key of this library, as of all others of an installation. */
const root = 'sluice';

// Names are encoded, because a brace or colon in one would lead to another book or to the keys of another name.

/** The book in which the limits of a tenant and its keys are counted. */
export function tenantBook(tenant: string): Book {
  return `${root}:{t:${encodeURIComponent(tenant)}}`;
}

/** The book in which the places of a pool are counted. */
export function poolBook(pool: string): Book {
  return `${root}:{p:${encodeURIComponent(pool)}}`;
}

/**
 * Zset of the books in use, each with the instant (Redis time) until which a process has promised to look after it. The
 * name is older than that of the books, and processes of earlier versions go by it.
 */
export const booksInUse = `${root}:admission:slots`;

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
