import { generateKeyPairSync, type KeyObject, randomBytes, verify } from 'node:crypto';
import { isJsonObject, type JsonObject, readJsonObject } from '../../runtime/json-object.ts';

/** A service account that a fake Google knows, with its private key. */
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

/** The account as the file that Google gives out. */
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

/** What a request for an access token is answered with. */
export interface TokenAnswer {
  readonly status: number;
  readonly body: object;
}

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';

/** The longest that an assertion may be valid, and how far clocks may differ. Source: push protocol, §8.2. */
const ASSERTION_SECONDS_MAX = 3600;
const LEEWAY_SECONDS = 300;

/** Access tokens that are remembered. */
const TOKENS_MAX = 1000;

/** Gives out access tokens as Google does: only to whoever proves to be the account. Source: push protocol, §8.2. */
export class AccessTokenIssuer {
  private readonly account: FakeAccount;
  private readonly tokenUri: () => string;
  /** When each of them ends. */
  private readonly tokens = new Map<string, number>();
  /** How long they are good. */
  validSeconds = 3599;
  /** Requests that were answered with one. */
  granted = 0;

  constructor(account: FakeAccount, tokenUri: () => string) {
    this.account = account;
    this.tokenUri = tokenUri;
  }

  /** Answers a form. */
  answer(form: URLSearchParams, nowMs: number): TokenAnswer {
    if (form.get('grant_type') !== GRANT_TYPE) return refuse('unsupported_grant_type', '');
    const fault = this.assertionFault(form.get('assertion') ?? '', nowMs / 1000);
    if (fault !== undefined) return refuse('invalid_grant', fault);
    this.granted++;
    const token = `fake.${randomBytes(96).toString('base64url')}`;
    if (this.tokens.size >= TOKENS_MAX) this.tokens.clear();
    this.tokens.set(token, nowMs + this.validSeconds * 1000);
    return {
      status: 200,
      body: { access_token: token, expires_in: this.validSeconds, token_type: 'Bearer' },
    };
  }

  /** Whether this is an access token that is good now. */
  knows(authorization: string | undefined, nowMs: number): boolean {
    const [, token = ''] = /^Bearer (\S+)$/.exec(authorization ?? '') ?? [];
    return (this.tokens.get(token) ?? 0) > nowMs;
  }

  /** None that was given out is good any more. */
  revokeAll(): void {
    this.tokens.clear();
  }

  /** What is wrong with a signed assertion, in words as Google has them. */
  private assertionFault(assertion: string, nowSeconds: number): string | undefined {
    const [, head = '', body = '', signature = ''] =
      /^([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(assertion) ?? [];
    const claims = decodePart(body);
    if (decodePart(head)?.['alg'] !== 'RS256' || !isJsonObject(claims)) return 'Invalid JWT';
    const { publicKey, clientEmail } = this.account;
    if (claims['iss'] !== clientEmail) return 'Invalid grant: account not found';
    const signed = Buffer.from(`${head}.${body}`);
    if (!verify('sha256', signed, publicKey, Buffer.from(signature, 'base64url'))) {
      return 'Invalid JWT Signature.';
    }
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

function decodePart(part: string): JsonObject | undefined {
  return readJsonObject(Buffer.from(part, 'base64url'));
}
