import { generateKeyPairSync, type KeyObject, randomBytes, verify } from 'node:crypto';
import type { JsonObject } from '../../runtime/json-object.ts';
import { readJwt } from '../jwt.ts';

/** A service account of the fake, with its private key. */
export interface FakeAccount {
  readonly projectId: string;
  readonly clientEmail: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export function newFakeAccount(projectId = 'fanfare-fake'): FakeAccount {
  return {
    projectId,
    clientEmail: `fanfare@${projectId}.iam.gserviceaccount.com`,
    ...generateKeyPairSync('rsa', { modulusLength: 2048 }),
  };
}

/** The JSON file of the account, as Google issues it. */
export function accountFile(account: FakeAccount, tokenUri: string): string {
  const { projectId, clientEmail, privateKey } = account;
  const file = {
    type: 'service_account',
    project_id: projectId,
    private_key: String(privateKey.export({ format: 'pem', type: 'pkcs8' })),
    client_email: clientEmail,
    token_uri: tokenUri,
  };
  return `${JSON.stringify(file, undefined, 2)}\n`;
}

/** The answer to a request for an access token. */
export interface TokenAnswer {
  readonly status: number;
  readonly body: object;
}

interface Granted extends TokenAnswer {
  readonly body: {
    readonly access_token: string;
    readonly expires_in: number;
    readonly token_type: string;
  };
}

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';

/** Longest validity of an assertion, and how far clocks may differ. Source: push protocol, §8.2. */
const ASSERTION_SECONDS_MAX = 3600;
const LEEWAY_SECONDS = 300;

/** Access tokens that are remembered; beyond it, all are forgotten. */
const TOKENS_MAX = 1000;

/** Issues access tokens as Google does, for assertions signed by the account. Source: push protocol, §8.2. */
export class AccessTokenIssuer {
  private readonly account: FakeAccount;
  private readonly tokenUri: () => string;
  /** When each token expires. */
  private readonly tokens = new Map<string, number>();
  /** Validity of new tokens. */
  validSeconds = 3599;
  /** Tokens issued so far. */
  granted = 0;

  constructor(account: FakeAccount, tokenUri: () => string) {
    this.account = account;
    this.tokenUri = tokenUri;
  }

  /** Answers a request, which is a form. */
  answer(form: URLSearchParams, nowMs: number): TokenAnswer {
    if (form.get('grant_type') !== GRANT_TYPE) return refuse('unsupported_grant_type', '');
    const fault = this.assertionFault(form.get('assertion') ?? '', nowMs / 1000);
    if (fault !== undefined) return refuse('invalid_grant', fault);
    return this.grant(nowMs);
  }

  /** A new access token. */
  grant(nowMs: number): Granted {
    this.granted++;
    const token = `fake.${randomBytes(96).toString('base64url')}`;
    if (this.tokens.size >= TOKENS_MAX) this.tokens.clear();
    this.tokens.set(token, nowMs + this.validSeconds * 1000);
    return {
      status: 200,
      body: { access_token: token, expires_in: this.validSeconds, token_type: 'Bearer' },
    };
  }

  /** Whether this is a valid access token. */
  knows(authorization: string | undefined, nowMs: number): boolean {
    const [, token = ''] = /^Bearer (\S+)$/.exec(authorization ?? '') ?? [];
    return (this.tokens.get(token) ?? 0) > nowMs;
  }

  revokeAll(): void {
    this.tokens.clear();
  }

  /** The error in a signed assertion, with Google's text. */
  private assertionFault(assertion: string, nowSeconds: number): string | undefined {
    const jwt = readJwt(assertion);
    if (jwt?.header['alg'] !== 'RS256') return 'Invalid JWT';
    const { claims, signed, signature } = jwt;
    const { publicKey, clientEmail } = this.account;
    if (claims['iss'] !== clientEmail) return 'Invalid grant: account not found';
    if (!verify('sha256', signed, publicKey, signature)) return 'Invalid JWT Signature.';
    return this.claimsFault(claims, nowSeconds);
  }

  private claimsFault(claims: JsonObject, nowSeconds: number): string | undefined {
    const { aud, scope, iat, exp } = claims;
    if (aud !== this.tokenUri()) return `Invalid JWT: aud is ${aud}`;
    if (typeof scope !== 'string' || !scope.split(' ').includes(SCOPE)) return 'Invalid scope';
    const isTimely =
      typeof iat === 'number' &&
      typeof exp === 'number' &&
      iat <= nowSeconds + LEEWAY_SECONDS &&
      exp > nowSeconds - LEEWAY_SECONDS &&
      exp - iat <= ASSERTION_SECONDS_MAX;
    return isTimely
      ? undefined
      : 'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe';
  }
}

function refuse(error: string, description: string): TokenAnswer {
  return { status: 400, body: { error, error_description: description } };
}
