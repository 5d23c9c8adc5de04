import type { InstanceSettings } from '../../../config/schema.ts';
import { credentialOf } from '../../../gateways/fcm/tokens/assertion.ts';
import type { FcmCredential } from '../../../gateways/fcm/tokens/credential.ts';
import {
  EXTERNAL_ACCOUNT,
  readExternalAccount,
} from '../../../gateways/fcm/tokens/external-account.ts';
import { machineCredential } from '../../../gateways/fcm/tokens/metadata-server.ts';
import { readServiceAccount } from '../../../gateways/fcm/tokens/service-account.ts';
import { readJsonObject } from '../../../runtime/json-object.ts';
import { readSettingFile, UnusableSetting } from './setting-files.ts';

type FcmSettings = NonNullable<InstanceSettings['fcm']>;

interface Found {
  readonly credential: FcmCredential;
  /** The text that it was read from. */
  readonly text: string;
}

const FILE = 'fcm.serviceAccountFile';
const TEXT = 'fcm.serviceAccount';

/** What an instance sends to FCM with. Throws `UnusableSetting`. */
export function fcmCredential(settings: FcmSettings): Found {
  const { metadata, projectId = '', serviceAccount, serviceAccountFile } = settings;
  if (metadata) return { credential: machineCredential(projectId), text: '' };
  if (serviceAccount !== undefined) return ofText(serviceAccount, settings);
  return ofFile(serviceAccountFile, settings);
}

/** A file on this machine is the operator's. So only it may name files and hosts to get a token from. */
function ofFile(file: string | undefined, { projectId }: FcmSettings): Found {
  const bytes = readSettingFile(FILE, file);
  const text = bytes.toString();
  const json = readJsonObject(bytes);
  if (json?.['type'] !== EXTERNAL_ACCOUNT) {
    const read = readServiceAccount(bytes);
    if (!read.ok) throw new UnusableSetting(FILE, `${file}: ${read.why}`);
    return { credential: credentialOf(read.account, projectId), text };
  }
  if (projectId === undefined) {
    throw new UnusableSetting('fcm.projectId', 'is needed: an external account names no project');
  }
  const read = readExternalAccount(json, projectId);
  if (!read.ok) throw new UnusableSetting(FILE, `${file}: ${read.why}`);
  return { credential: read.credential, text };
}

/** A text may come from the admin of one instance, so it is checked where tokens are requested. */
function ofText(text: string, { projectId, origin }: FcmSettings): Found {
  const read = readServiceAccount(Buffer.from(text));
  if (!read.ok) throw new UnusableSetting(TEXT, read.why);
  if (!mayGiveTokens(read.account.tokenUri, origin)) {
    throw new UnusableSetting(TEXT, 'its token_uri is not at Google');
  }
  return { credential: credentialOf(read.account, projectId), text };
}

/** Whether an access token may be requested from this address: Google's, or that of a stand-in. */
function mayGiveTokens(tokenUri: string, standIn: string | null): boolean {
  const { origin } = new URL(tokenUri);
  return /^https:\/\/(?:[\w-]+\.)*google(?:apis)?\.com$/.test(origin) || origin === standIn;
}
