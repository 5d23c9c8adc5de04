/** A device in the form that the server takes. It checks it: a source only translates. */
export type SourceDevice = Readonly<Record<string, unknown>>;

/** What a source has read: a device, one that has unsubscribed, or why it is none. */
export type SourceRow =
  | { readonly is: 'device'; readonly row: SourceDevice }
  | { readonly is: 'unsubscribed' }
  | { readonly is: 'refused'; readonly field: string; readonly reason: string };

/** What options say about the rows of a source. */
export interface SourceOptions {
  /** The bundle id of the app that tokens of Apple are of, where the source has none. */
  readonly bundle: string | undefined;
  /** Whether tags of OneSignal become interests. */
  readonly tags: boolean;
}

export type ReadSource = (
  text: AsyncIterable<string>,
  options: SourceOptions,
) => AsyncGenerator<SourceRow>;

export function refused(field: string, reason: string): SourceRow {
  return { is: 'refused', field, reason };
}

export function device(row: SourceDevice): SourceRow {
  return { is: 'device', row: withoutEmpty(row) };
}

/** Leaves out fields without a value. */
function withoutEmpty(row: SourceDevice): SourceDevice {
  return Object.fromEntries(
    Object.entries(row).filter(([, value]) => value !== undefined && value !== ''),
  );
}
