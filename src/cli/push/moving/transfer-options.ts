import { CONFIG_OPTION, type Option } from '../../options.ts';
import { secretOptions } from '../../secret-option.ts';

/** The options that select the push listener of a server, and the key of the instance. */
export const PUSH_LISTENER_OPTIONS: readonly Option[] = [
  {
    name: 'url',
    value: 'URL',
    help: 'The push listener of a running server. Default: the one of the configuration.',
  },
  ...secretOptions({
    name: 'secret-key',
    value: 'KEY',
    help: 'A secret key of the instance. Default: the first one in the configuration or the store.',
  }),
  CONFIG_OPTION,
];
