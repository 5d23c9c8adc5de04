import { createPrivateKey, X509Certificate } from 'node:crypto';
import { messageOf } from '../error-code.ts';

/** What a PEM file is for: certificates, first that of the owner, or one private key. */
export type PemKind = 'certificate' | 'private key';

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g;
const CERTIFICATE_LABEL = /^(?:TRUSTED |X509 )?CERTIFICATE$/;
const KEY_LABEL = /PRIVATE KEY$/;

/** Byte order marks, and what they say of the file. OpenSSL skips the first block of a file that begins with one. */
const MARKS: readonly (readonly [readonly number[], string])[] = [
  [
    [0xef, 0xbb, 0xbf],
    'begins with a byte order mark (BOM), which an editor has added: save it as UTF-8 without BOM',
  ],
  [[0xff, 0xfe], 'is UTF-16 text: save it as UTF-8 without BOM'],
  [[0xfe, 0xff], 'is UTF-16 text: save it as UTF-8 without BOM'],
];

/** Why a file does not hold what it must; `undefined` if it does. Completes "FILE …", and repeats nothing of the file. */
export function pemFault(bytes: Uint8Array, kind: PemKind): string | undefined {
  const fault = textFault(bytes);
  if (fault !== undefined) return fault;
  const text = new TextDecoder().decode(bytes);
  const blocks = [...text.matchAll(BLOCK)].map(([block, label = '']) => ({ block, label }));
  return kind === 'certificate' ? certificateFault(text, blocks) : keyFault(text, blocks);
}

/** Why a file is no text as programs expect it: empty, or saved by an editor in another encoding. */
export function textFault(bytes: Uint8Array): string | undefined {
  const mark = MARKS.find(([start]) => start.every((byte, index) => bytes[index] === byte));
  if (mark !== undefined) return mark[1];
  return new TextDecoder().decode(bytes).trim() === '' ? 'is empty' : undefined;
}

interface Block {
  readonly block: string;
  readonly label: string;
}

function certificateFault(text: string, blocks: readonly Block[]): string | undefined {
  const certificates = blocks.filter(({ label }) => CERTIFICATE_LABEL.test(label));
  if (certificates.length === 0) return missing(text, blocks, 'certificate');
  // What is cut off in the middle has no last line, and would go unnoticed.
  const begun = text.match(/-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----/g)?.length ?? 0;
  const broken = certificates.findIndex(({ block }) => !isCertificate(block));
  const number = broken === -1 ? certificates.length + 1 : broken + 1;
  if (broken === -1 && begun === certificates.length) return undefined;
  return begun === 1 ? 'holds a damaged certificate' : `holds damage: its certificate ${number}`;
}

function keyFault(text: string, blocks: readonly Block[]): string | undefined {
  const key = blocks.find(({ label }) => KEY_LABEL.test(label));
  if (key === undefined) return missing(text, blocks, 'private key');
  if (key.label.includes('ENCRYPTED') || /^Proc-Type:.*ENCRYPTED/m.test(key.block)) {
    return 'holds a key with a passphrase, which nobody could type at a start: remove it with openssl pkey';
  }
  try {
    createPrivateKey(key.block);
    return undefined;
  } catch {
    return 'holds a damaged private key';
  }
}

function missing(text: string, blocks: readonly Block[], kind: PemKind): string {
  const other = blocks.some(({ label }) =>
    kind === 'certificate' ? KEY_LABEL.test(label) : CERTIFICATE_LABEL.test(label),
  );
  if (other) {
    return kind === 'certificate'
      ? 'holds a private key and no certificate: are the two files swapped?'
      : 'holds a certificate and no private key: are the two files swapped?';
  }
  const line = kind === 'certificate' ? 'BEGIN CERTIFICATE' : 'BEGIN PRIVATE KEY';
  return text.includes('-----BEGIN ')
    ? `holds no complete ${kind}`
    : `is not PEM: it has no line -----${line}-----`;
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).raw.length > 0;
  } catch {
    return false;
  }
}

/** Why a key does not belong to a certificate; `undefined` if it does. Both were checked by `pemFault`. */
export function pairFault({
  cert,
  key,
}: {
  readonly cert: string;
  readonly key: string;
}): string | undefined {
  try {
    const fits = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
    return fits ? undefined : 'the key does not belong to the certificate';
  } catch (error) {
    return messageOf(error);
  }
}
