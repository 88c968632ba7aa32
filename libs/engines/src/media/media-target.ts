/** Where a file is, checked as far as its URL tells. */
export interface MediaTarget {
  url: URL;
  /** Lower case, without the final dot of a name or the brackets of an IPv6 address. */
  host: string;
}

/** Which URLs may be fetched, as far as a URL alone tells. */
export interface TargetRules {
  allowsHttp: boolean;
  ports: readonly number[];
}

const defaultPorts: Readonly<Record<string, number>> = { 'https:': 443, 'http:': 80 };

/**
 * Parses a URL. Odd spellings of IPv4 addresses (decimal, octal, hexadecimal, short) become the usual one. `base` is
 * the URL that redirected here. A string says what is wrong, without quoting the URL.
 */
export function parseTarget(text: string, rules: TargetRules, base?: URL): MediaTarget | string {
  const url = URL.canParse(text, base?.href) ? new URL(text, base?.href) : undefined;
  if (!url) return 'is not a URL';
  if (url.protocol !== 'https:' && !(rules.allowsHttp && url.protocol === 'http:')) {
    return rules.allowsHttp ? 'must be an http or https URL' : 'must be an https URL';
  }
  if (base?.protocol === 'https:' && url.protocol === 'http:') return 'leads from https to http';
  if (url.username !== '' || url.password !== '') return 'must be a URL without a user name or password';
  const port = url.port === '' ? defaultPorts[url.protocol] : Number(url.port);
  if (port === undefined || !rules.ports.includes(port)) return 'must be a URL without that port';
  const host = url.hostname.replace(/\.$/, '').replace(/^\[(.*)\]$/, '$1');
  // A second final dot is left: DNS would find the name that no list has with a dot.
  return host === '' || host.endsWith('.') ? 'is not a URL' : { url, host };
}
