import { createPrivateKey, type KeyObject } from 'node:crypto';
import { type JsonObject, readJsonObject } from '../../../runtime/json-object.ts';
import { isHttpUrl, PROJECT_ID } from './credential.ts';

/** A Google service account that may send. */
export interface ServiceAccount {
  readonly projectId: string;
  readonly clientEmail: string;
  readonly privateKey: KeyObject;
  /** Id of the key, if the file has one. */
  readonly privateKeyId: string | undefined;
  /** Where access tokens are requested. */
  readonly tokenUri: string;
}

export type ReadServiceAccount =
  | { readonly ok: true; readonly account: ServiceAccount }
  | { readonly ok: false; readonly why: string };

/** For files without a `token_uri`. Source: push protocol, §8.2. */
const TOKEN_URI = 'https://oauth2.googleapis.com/token';

const TYPE = 'service_account';

const CLIENT_EMAIL = /^[\x21-\x3f\x41-\x7e]+@[\x21-\x3f\x41-\x7e]+$/;

const KEY_BITS_MIN = 2048;

/** Reads the JSON file of a service account. A fault never quotes the file. */
export function readServiceAccount(bytes: Uint8Array): ReadServiceAccount {
  const file = readJsonObject(bytes);
  if (file === undefined) return fault('it is not a JSON object');
  if ('project_info' in file) {
    return fault(
      'it is the google-services.json of an app; the file of a service account is needed',
    );
  }
  const { type, project_id, client_email, private_key_id, token_uri } = file;
  if (type !== undefined && type !== TYPE) return fault(`its type is not "${TYPE}"`);
  if (typeof project_id !== 'string' || !PROJECT_ID.test(project_id)) {
    return fault('its project_id is missing or malformed');
  }
  if (typeof client_email !== 'string' || !CLIENT_EMAIL.test(client_email)) {
    return fault('its client_email is missing or malformed');
  }
  const tokenUri = token_uri ?? TOKEN_URI;
  if (!isHttpUrl(tokenUri)) {
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

/** The key, or the error in it. */
function readPrivateKey({ private_key }: JsonObject): KeyObject | string {
  if (typeof private_key !== 'string') return 'its private_key is missing';
  try {
    const key = createPrivateKey(private_key);
    const isStrong = (key.asymmetricKeyDetails?.modulusLength ?? 0) >= KEY_BITS_MIN;
    return key.asymmetricKeyType === 'rsa' && isStrong
      ? key
      : `its private_key is not an RSA key of at least ${KEY_BITS_MIN} bits`;
  } catch {
    // The parser's message could quote the key.
    return 'its private_key is not a private key in PEM';
  }
}

function fault(why: string): ReadServiceAccount {
  return { ok: false, why };
}
