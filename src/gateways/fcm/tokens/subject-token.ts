import { closeSync, openSync, readSync } from 'node:fs';
import { isFieldValue } from '../../../outgoing/http2/hpack/header-field.ts';
import { fileFault } from '../../../runtime/error-code.ts';
import { isJsonObject, type JsonObject, readJsonObject } from '../../../runtime/json-object.ts';
import { isHttpUrl, TOKEN_BOUNDS, type TokenRequest } from './credential.ts';
import { type FcmTokenFault, unavailable } from './token-answer.ts';

/** Where the token of the other issuer is, which is read anew each time because it changes. */
export interface SubjectSource {
  readonly from:
    | { readonly file: string }
    | { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  /** The field of a JSON object that holds it. `undefined`: the whole text is the token. */
  readonly field: string | undefined;
}

export type SubjectToken =
  | { readonly ok: true; readonly token: string }
  | { readonly ok: false; readonly fault: FcmTokenFault };

const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/;

/** Reads `credential_source`, or returns the error in it. Source: AIP-4117. */
export function subjectSourceOf(source: JsonObject): SubjectSource | string {
  const { file, url, headers = {}, format = {} } = source;
  if (!isJsonObject(format)) return 'the format of its credential_source is not an object';
  const { type = 'text', subject_token_field_name: field } = format;
  if (type !== 'text' && type !== 'json') {
    return 'the format of its credential_source is neither text nor json';
  }
  if (type === 'json' && typeof field !== 'string') {
    return 'the format of its credential_source has no subject_token_field_name';
  }
  const wanted = type === 'json' ? String(field) : undefined;
  if (typeof file === 'string' && file !== '') return { from: { file }, field: wanted };
  if (!isHttpUrl(url) || 'environment_id' in source) {
    return 'its credential_source has neither a file nor a url: executables, certificates and the services of AWS are not supported, so let a file or a url give the token';
  }
  const fields = isJsonObject(headers) ? headersOf(headers) : undefined;
  return fields === undefined
    ? 'the headers of its credential_source are malformed'
    : { from: { url, headers: fields }, field: wanted };
}

/** Reads the token. It may be missing for a moment, so every fault is one that may end by itself. */
export async function readSubjectToken(
  { from, field }: SubjectSource,
  request: TokenRequest,
): Promise<SubjectToken> {
  const read = 'file' in from ? readTokenFile(from.file) : await ask(from, request);
  if (typeof read === 'string') return none(read);
  const value =
    field === undefined ? Buffer.from(read).toString().trim() : readJsonObject(read)?.[field];
  return typeof value === 'string' && value !== '' && isFieldValue(value)
    ? { ok: true, token: value }
    : none('it holds no token');
}

/** The start of a file, which is not read further. Or the reason why it cannot be read. */
function readTokenFile(path: string): Uint8Array | string {
  try {
    using opened = new DisposableStack();
    const file = opened.adopt(openSync(path, 'r'), (one) => closeSync(one));
    const bytes = new Uint8Array(TOKEN_BOUNDS.answerBytesMax);
    return bytes.subarray(0, readSync(file, bytes));
  } catch (error) {
    return fileFault(error);
  }
}

async function ask(
  { url, headers }: { readonly url: string; readonly headers: Readonly<Record<string, string>> },
  { send, signal }: TokenRequest,
): Promise<Uint8Array | string> {
  const answer = await send({ ...TOKEN_BOUNDS, url, headers, signal });
  if (answer.result === 'timeout') return 'no answer in time';
  if (answer.result !== 'answered') return answer.why;
  return answer.status === 200 ? answer.body : `HTTP status ${answer.status}`;
}

function headersOf(headers: JsonObject): Readonly<Record<string, string>> | undefined {
  const entries: [string, string][] = [];
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name) || typeof value !== 'string' || !isFieldValue(value)) return;
    entries.push([name.toLowerCase(), value]);
  }
  return Object.fromEntries(entries);
}

function none(words: string): SubjectToken {
  return unavailable('no-subject-token', undefined, words);
}
