import { createHash, createHmac } from 'node:crypto';

/**
 * How server libraries sign and send a query. Written after the seed's "Signature rules" and the libraries'
 * sources, apart from the server's own code.
 */

/** One parameter as the user of a library gives it. */
export type Given = readonly [name: string, value: string | readonly string[]];

export interface Style {
  readonly library: string;
  /** The third line of what is signed. */
  signed(query: readonly Given[]): string;
  /** What stands behind the question mark, `auth_signature` excepted. */
  sent(query: readonly Given[]): string;
}

const byKey = ([a]: Given, [b]: Given) => (a < b ? -1 : a > b ? 1 : 0);

function lowered(query: readonly Given[]): readonly Given[] {
  return query.map(([name, value]) => [name.toLowerCase(), value] as const).toSorted(byKey);
}

const encode = encodeURIComponent;

/** PHP writes a space as a plus. */
const formEncode = (text: string) => encode(text).replaceAll('%20', '+');

/** `k[]=v1&k[]=v2`, sorted under `k`. Source: pusher-signature `query_encoder.rb`. */
const ruby: Style = {
  library: 'Ruby',
  signed: (query) =>
    lowered(query)
      .map(([name, value]) =>
        typeof value === 'string'
          ? `${name}=${value}`
          : value.map((element) => `${name}[]=${element}`).join('&'),
      )
      .join('&'),
  sent: (query) =>
    query
      .flatMap(([name, value]) =>
        typeof value === 'string'
          ? [`${encode(name)}=${encode(value)}`]
          : value.map((element) => `${encode(name)}[]=${encode(element)}`),
      )
      .join('&'),
};

/** Signed with commas, sent with indexes. Source: pusher-http-php `src/Pusher.php`, `http_build_query`. */
const php: Style = {
  library: 'PHP',
  signed: (query) =>
    lowered(query)
      .map(([name, value]) => `${name}=${typeof value === 'string' ? value : value.join(',')}`)
      .join('&'),
  sent: (query) =>
    query
      .flatMap(([name, value]) =>
        typeof value === 'string'
          ? [`${formEncode(name)}=${formEncode(value)}`]
          : value.map((element, at) => `${formEncode(`${name}[${at}]`)}=${formEncode(element)}`),
      )
      .join('&'),
};

/** Knows no arrays: `channels[]` is a key like any other, one element or several. */
const plain: Style = {
  library: 'Node',
  signed: (query) =>
    lowered(flat(query))
      .map((pair) => pair.join('='))
      .join('&'),
  sent: (query) =>
    flat(query)
      .map(([name, value]) => `${encode(name)}=${encode(String(value))}`)
      .join('&'),
};

function flat(query: readonly Given[]): readonly Given[] {
  return query.flatMap(([name, value]): readonly Given[] =>
    typeof value === 'string'
      ? [[name, value]]
      : value.map((element) => [`${name}[]`, element] as const),
  );
}

export const styles: readonly Style[] = [ruby, php, plain];

export function hmacHex(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('hex');
}

export function md5Hex(body: string | Uint8Array): string {
  return createHash('md5').update(body).digest('hex');
}

/** What every request carries. `body_md5` only where there is a body. */
export function authParameters(
  key: string,
  timestampSeconds: number,
  body: string | Uint8Array = '',
): readonly Given[] {
  return [
    ['auth_key', key],
    ['auth_timestamp', String(timestampSeconds)],
    ['auth_version', '1.0'],
    ...(body.length === 0 ? [] : [['body_md5', md5Hex(body)] as const]),
  ];
}

/** The whole query of one request. `signedPath` is what the signature is made over. */
export function signedQuery(
  style: Style,
  secret: string,
  method: string,
  signedPath: string,
  query: readonly Given[],
): string {
  const signature = hmacHex(secret, `${method}\n${signedPath}\n${style.signed(query)}`);
  return `${style.sent(query)}&auth_signature=${signature}`;
}
