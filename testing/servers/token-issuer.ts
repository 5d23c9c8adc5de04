import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { Certificate } from './openssl.ts';

export type IssuerAlgorithm = 'RS256' | 'ES256' | 'EdDSA';

/** A key pair of an issuer. */
export interface IssuerKey {
  readonly kid: string;
  readonly algorithm: IssuerAlgorithm;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const newPair = {
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
};

const ISSUER = 'https://login.example.com/';
const AUDIENCE = 'https://ws.example.com';

/** An identity provider that publishes its key set, and answers as a test wants. */
export class TokenIssuer implements AsyncDisposable {
  /** The paths of its requests. */
  readonly requests: string[] = [];
  private readonly server: Bun.Server<undefined>;
  private readonly scheme: 'http' | 'https';
  private keys: readonly IssuerKey[] = [];
  /** Replaces the key set. */
  private answer: (() => Response | Promise<Response>) | undefined;

  /** `tls`: for 127.0.0.1; plain HTTP without. */
  constructor(tls?: Pick<Certificate, 'cert' | 'key'>) {
    this.scheme = tls === undefined ? 'http' : 'https';
    this.server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      ...(tls && { tls: { cert: tls.cert, key: tls.key } }),
      fetch: ({ url }) => {
        this.requests.push(new URL(url).pathname);
        return this.answer?.() ?? this.keySet();
      },
    });
  }

  /** The settings of an app that takes its tokens. Each app has a path of its own. */
  grants(path = '/jwks') {
    return { jwksUrl: this.urlOf(path), issuer: ISSUER, audience: AUDIENCE, leewaySeconds: 0 };
  }

  urlOf(path: string): string {
    return `${this.scheme}://127.0.0.1:${this.server.port}${path}`;
  }

  /** Publishes these keys, and no others. */
  publish(...keys: readonly IssuerKey[]): void {
    this.keys = keys;
    this.answer = undefined;
  }

  /** Answers every request in this way, until keys are published. */
  answers(answer: () => Response | Promise<Response>): void {
    this.answer = answer;
  }

  keySet(): Response {
    const keys = this.keys.map(({ kid, publicKey, algorithm }) => ({
      ...publicKey.export({ format: 'jwk' }),
      kid,
      use: 'sig',
      alg: algorithm,
    }));
    return Response.json({ keys });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop(true);
  }
}

export function newIssuerKey(
  algorithm: IssuerAlgorithm,
  kid: string = crypto.randomUUID(),
): IssuerKey {
  return { kid, algorithm, ...newPair[algorithm]() };
}

/** A token of the issuer, valid for a minute. */
export function issuedToken(
  { kid, algorithm, privateKey }: IssuerKey,
  claims: object = {},
): string {
  const exp = Math.floor(Date.now() / 1000) + 60;
  const parts = [
    { alg: algorithm, kid },
    { exp, iss: ISSUER, aud: AUDIENCE, sub: 'ann', ...claims },
  ];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const signature = sign(algorithm === 'EdDSA' ? null : 'sha256', Buffer.from(text.join('.')), {
    key: privateKey,
    dsaEncoding: 'ieee-p1363',
  });
  return `${text.join('.')}.${signature.toString('base64url')}`;
}
