/** The address of a running server, and where a command has it from. */
export interface ServerAddress {
  readonly url: string;
  /** What to check if nothing answers there. */
  readonly hint: string;
}

/** The address of `--url`. */
export function givenAddress(url: string): ServerAddress {
  return { url, hint: 'Is the server running? Check --url.' };
}

/** The address of a listener that the configuration describes. `source`: its file, if there is one. */
export function configuredAddress(
  url: string,
  listener: 'push' | 'admin',
  source: string | undefined,
): ServerAddress {
  const from =
    source === undefined
      ? 'no configuration file was found here, so this is the address of the default settings and the environment'
      : `this is the address of ${listener}.host and ${listener}.port in ${source}`;
  return {
    url,
    hint: `Is the server running? If it is elsewhere: ${from}; --config and --url name another one.`,
  };
}
