/** The text that replaces a secret. */
export const mask = '***';

const secretWords: ReadonlySet<string> = new Set([
  'key',
  'keys',
  'apikey',
  'token',
  'secret',
  'secrets',
  'password',
  'passphrase',
  'pwd',
  'credential',
  'credentials',
  'authorization',
  'cookie',
]);
const knownNames = new Map<string, boolean>();

/**
 * Whether a field of this name holds a secret, which its last word decides (`x-api-key`, `apiKey`, `SLUICE_API_KEY`).
 */
export function isSecretName(name: string): boolean {
  const known = knownNames.get(name);
  if (known !== undefined) return known;
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  const isSecret = secretWords.has(words[words.length - 1] ?? '');
  // The cache is bounded, because names can come from strangers' JSON.
  if (knownNames.size < 1000) knownNames.set(name, isSecret);
  return isSecret;
}

const credential =
  /\b(Bearer\s+)[^\s"'\\,]+|\b(sk-)[\w-]{8,}|\b(AIza)[\w-]{20,}|([?&](?:(?:api[-_]?)?key|(?:sentinel)?password)=)[^&\s"'\\]+/gi;
/** Of the scheme only its end: a search from each place where one may begin would take n² steps. */
const passwordInUrl = /([a-z0-9+.-]:\/\/[^\s/:@"]*):[^\s/@"]+@/gi;

/** The text, with everything masked that looks like a credential. */
export function maskText(text: string): string {
  return text
    .replace(credential, (_all, bearer, sk, google, query) => `${bearer ?? sk ?? google ?? query}${mask}`)
    .replace(passwordInUrl, `$1:${mask}@`);
}

/**
 * A copy that may be printed: strings under secret names and under the names in `secrets` are masked, and so are
 * credentials inside other strings. Numbers and booleans stay, whatever their name.
 */
export function maskSecrets(value: unknown, secrets: ReadonlySet<string> = new Set()): unknown {
  return maskNamed('', value, secrets);
}

function maskNamed(name: string, value: unknown, secrets: ReadonlySet<string>): unknown {
  if (typeof value === 'string') {
    return value !== '' && (secrets.has(name) || isSecretName(name)) ? mask : maskText(value);
  }
  if (Array.isArray(value)) return value.map((item) => maskNamed(name, item, secrets));
  if (value instanceof Map) return maskNamed(name, Object.fromEntries(value), secrets);
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, maskNamed(key, inner, secrets)]),
  );
}

/** Whether the object is a plain record of fields, and not an instance of a class. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
