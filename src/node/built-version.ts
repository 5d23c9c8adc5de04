import packageJson from '../../package.json';

/** Put in place when the server is built. */
declare const BUILD_VERSION: string | undefined;

/** The version. In a build that is no release, the time of its commit is part of it; see `packaging/version.sh`. */
export const BUILT_VERSION =
  typeof BUILD_VERSION === 'string' ? BUILD_VERSION : packageJson.version;
