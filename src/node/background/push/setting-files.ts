import { readFileSync } from 'node:fs';
import { fileFault } from '../../../runtime/error-code.ts';
import { pemFault, textFault } from '../../../runtime/tls/pem.ts';

/** A setting of a gateway cannot be used, mostly because of the file that it names. */
export class UnusableSetting extends Error {
  override readonly name = 'UnusableSetting';
  readonly setting: string;

  constructor(setting: string, why: string) {
    super(why);
    this.setting = setting;
  }
}

/** Reads the file that a setting names. The schema requires one where the text is not given. Throws `UnusableSetting`. */
export function readSettingFile(setting: string, file = ''): Buffer {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new UnusableSetting(setting, `${file} ${fileFault(error)}`);
  }
  const fault = textFault(bytes);
  if (fault !== undefined) throw new UnusableSetting(setting, `${file} ${fault}`);
  return bytes;
}

/** Reads the certificates to trust. Throws `UnusableSetting`. */
export function readCa(setting: string, file: string | null): string | undefined {
  if (file === null) return undefined;
  const bytes = readSettingFile(setting, file);
  const fault = pemFault(bytes, 'certificate');
  if (fault !== undefined) throw new UnusableSetting(setting, `${file} ${fault}`);
  return bytes.toString();
}
