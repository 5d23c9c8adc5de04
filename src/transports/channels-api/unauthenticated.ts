import type { App } from '../../channels/app.ts';
import { ApiRefusal } from './problems.ts';

/** What is wrong with a request that is answered with 401. */
export type AuthMistake =
  | 'unknown-key'
  | 'key-of-another-app'
  | 'wrong-app-id'
  | 'missing-parameter'
  | 'version'
  | 'timestamp'
  | 'clock'
  | 'expired'
  | 'unsigned'
  | 'token'
  | 'not-covered'
  | 'body'
  | 'signature';

export interface MistakeRow {
  /** How the text of the answer begins. */
  readonly text: string;
  /** What the problems of an app say in place of the text, which does not tell these mistakes apart. */
  readonly title?: string;
  readonly when: string;
  readonly advice: string;
}

/** Every mistake that is answered with 401. The hosted service answers the first three alike. */
export const authMistakes: Record<AuthMistake, MistakeRow> = {
  'unknown-key': {
    text: 'Unknown auth_key',
    title: 'Unknown key: no app has the key of this request',
    when: 'No app of this server has the key.',
    advice:
      "Compare the key of the backend with the app's: `fanfare apps show ID`. It may have been removed, or be of another server.",
  },
  'key-of-another-app': {
    text: 'Unknown auth_key',
    title: 'Key of another app: the request names this app, and a key that another app has',
    when: 'The key is of another app than the one that the path names.',
    advice:
      'Give the backend the app id, the key and the secret of the same app: `fanfare apps show ID`.',
  },
  'wrong-app-id': {
    text: 'Unknown auth_key',
    title: 'Wrong app id: the request has a key of this app, and another app id',
    when: 'The path names another app than the one that the key is of, or none that exists.',
    advice:
      'Set the app id of the backend (`appId`, `app_id`, `PUSHER_APP_ID`) to the id of this app.',
  },
  'missing-parameter': {
    text: 'Missing parameter:',
    when: 'The query lacks a parameter that is signed or the signature.',
    advice:
      'Use a server library, or send all of `auth_key`, `auth_timestamp`, `auth_version`, `auth_signature` and, with a body, `body_md5`. Check that no proxy removes the query.',
  },
  version: {
    text: 'Version',
    when: '`auth_version` is missing, or is not 1.0.',
    advice: 'Send `auth_version=1.0`.',
  },
  timestamp: {
    text: 'Timestamp required',
    when: '`auth_timestamp` is missing, or is no whole number.',
    advice: 'Send the seconds since 1970, not milliseconds and no fraction.',
  },
  clock: {
    text: 'Timestamp expired',
    when: 'The clocks differ by 600 seconds or more, or the request was signed that long ago.',
    advice:
      'Set the clocks of the backend and of this server by NTP. Sign a request again when it is repeated.',
  },
  expired: {
    text: 'Signature expired',
    when: 'A request to read channels was signed with `expires`, and that time has passed.',
    advice:
      'Nothing, if the page is gone that read with it. Otherwise sign a URL again when the page needs one.',
  },
  unsigned: {
    text: 'CHANNEL: needs a signed URL',
    title: 'Unsigned: a request with `key` alone names a channel that is not public',
    when: 'A request to read channels has `key` and no signature, and a channel is private, encrypted, a presence or a user channel.',
    advice: 'Let your backend sign the URL.',
  },
  token: {
    text: 'Invalid token:',
    when: 'A request to read channels has a token in `Authorization` that is wrong, has ended or is revoked.',
    advice:
      'The text says what is wrong. If it has ended, get a new one; *Check an authorisation* in the dashboard examines it.',
  },
  'not-covered': {
    text: 'CHANNEL: the token does not cover it',
    title: 'Not covered: a token names no right to subscribe to a channel that a request reads',
    when: 'A request to read channels has a token in `Authorization` that does not let its bearer subscribe to the channel.',
    advice: 'Give the token the channel, with `subscribe`, or let your backend sign the URL.',
  },
  body: {
    text: 'Invalid body_md5',
    when: 'The body is not the one that was signed.',
    advice:
      'Sign the bytes that are sent. Check that nothing after the library changes them, such as a proxy or another encoding.',
  },
  signature: {
    text: 'Invalid signature',
    when: 'The signature is another than the one of the secret.',
    advice:
      'Compare the string in the text with the one your library signed. If they are equal, the secret is wrong: `fanfare apps show ID --secret`.',
  },
};

/** A refusal of a request that is not signed as it must be. Its text is that of the hosted service. */
export class Unauthenticated extends ApiRefusal {
  readonly mistake: AuthMistake;
  /** The app that the key of the request is of, if the request names another app. */
  readonly keyOwner: App | undefined;

  constructor(mistake: AuthMistake, text: string, keyOwner?: App) {
    super('unauthenticated', text);
    this.mistake = mistake;
    this.keyOwner = keyOwner;
  }
}
