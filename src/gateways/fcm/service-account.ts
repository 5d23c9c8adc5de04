import { createPrivateKey, type KeyObject } from 'node:crypto';
import { type JsonObject, readJsonObject } from '../../runtime/json-object.ts';

/** Who sends, as Google knows them. */
export interface ServiceAccount {
  readonly projectId: string;
  readonly clientEmail: string;
  readonly privateKey: KeyObject;
  /** Which of the account's keys this is, where the file says so. */
  readonly privateKeyId: string | undefined;
  /** Where access tokens are asked for. */
  readonly tokenUri: string;
}

export type ReadServiceAccount =
  | { readonly ok: true; readonly account: ServiceAccount }
  | { readonly ok: false; readonly why: string };

/** Of files that do not name one. Source: push protocol, §8.2. */
const TOKEN_URI = 'https://oauth2.googleapis.com/token';

const TYPE = 'service_account';

/** It becomes a part of a path. Old ones begin with a domain, as in `example.com:shop`. */
const PROJECT_ID = /^[A-Za-z0-9][\w.:-]{0,127}$/;

const CLIENT_EMAIL = /^[\x21-\x7e]+@[\x21-\x7e]+$/;

const KEY_BITS_MIN = 2048;

/** Reads the JSON file of a service account; or says what is wrong with it, and nothing of what is in it. */
export function readServiceAccount(bytes: Uint8Array): ReadServiceAccount {
  const file = readJsonObject(bytes);
  if (file === undefined) return fault('it is no JSON object');
  if ('project_info' in file) {
    return fault(
      'it is the google-services.json of an app; the file of a service account is needed',
    );
  }
  const { type, project_id, client_email, private_key_id, token_uri } = file;
  if (type !== undefined && type !== TYPE) return fault(`its type is not "${TYPE}"`);
  if (typeof project_id !== 'string' || !PROJECT_ID.test(project_id)) {
    return fault('its project_id is missing, or none');
  }
  if (typeof client_email !== 'string' || !CLIENT_EMAIL.test(client_email)) {
    return fault('its client_email is missing, or none');
  }
  const tokenUri = token_uri ?? TOKEN_URI;
  if (typeof tokenUri !== 'string' || !isHttpUrl(tokenUri)) {
    return fault('its token_uri is not an http or https address');
  }
  const privateKey = readPrivateKey(file);
  if (typeof privateKey === 'string') return fault(privateKey);
  const privateKeyId = typeof private_key_id === 'string' ? private_key_id : undefined;
  return {
    ok: true,
    account: {
      projectId: project_id,
      clientEmail: client_email,
      privateKey,
      privateKeyId,
      tokenUri,
    },
  };
}

function isHttpUrl(text: string): boolean {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? '');
}

/** The key, or what is wrong with it. */
function readPrivateKey({ private_key }: JsonObject): KeyObject | string {
  if (typeof private_key !== 'string') return 'its private_key is missing';
  try {
    const key = createPrivateKey(private_key);
    const isStrong = (key.asymmetricKeyDetails?.modulusLength ?? 0) >= KEY_BITS_MIN;
    return key.asymmetricKeyType === 'rsa' && isStrong
      ? key
      : `its private_key is no RSA key of ${KEY_BITS_MIN} bits or more, as those from Google are`;
  } catch {
    // Whatever the parser says could quote what it was given.
    return 'its private_key is no private key in PEM';
  }
}

function fault(why: string): ReadServiceAccount {
  return { ok: false, why };
}
