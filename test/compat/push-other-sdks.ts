import { INSTANCE } from '../../testing/servers/push-server.ts';
import { type Transcript, transcript } from './transcript.ts';

const { id, secretKey } = INSTANCE;
const PUBLISHES = `/publish_api/v1/instances/${id}/publishes`;
const USERS = `/customer_api/v1/instances/${id}/users`;
const AUTHORIZATION = `Bearer ${secretKey}`;
/** For libraries whose server cannot be configured, DNS directs this host to the server. */
const HOSTED = `${id}.pushnotifications.pusher.com`;
const OWN = '127.0.0.1:6002';

/** A user id that every library encodes in its own way. */
export const USER = 'ann lee/7+ü%~@';

/** A server library in another language, modelled by the requests of one backend. */
export interface OtherSdk {
  readonly name: string;
  /** Publishes with these methods, in this order. */
  readonly publishes: readonly (readonly [method: string, request: Transcript])[];
  /** Deletes `user`. */
  readonly deletes: { readonly user: string; readonly request: Transcript };
  /** Header and claims of the token for `USER` as JSON texts. `exp` is its expiry. */
  readonly token: (expSeconds: number) => readonly [header: string, claims: string];
}

const ISSUER = `https://${HOSTED}`;
/** The header of most libraries. */
const JWT = '{"alg":"HS256","typ":"JWT"}';

const GO_HEADERS = [
  `Host: ${OWN}`,
  'User-Agent: Go-http-client/1.1',
  'Content-Length: *',
  `Authorization: ${AUTHORIZATION}`,
  'Content-Type: application/json',
  'X-Pusher-Library: pusher-push-notifications-go 1.1.0',
  'Accept-Encoding: gzip',
];

/** Sorts the keys of its JSON, escapes HTML characters, and sends no Accept header. */
const go: OtherSdk = {
  name: 'Go',
  publishes: [
    [
      'PublishToInterests, Publish',
      transcript(
        [`POST ${PUBLISHES} HTTP/1.1`, ...GO_HEADERS],
        '{"apns":{"aps":{"alert":"Zoë\'s \\u003cb\\u003e☃\\u003c/b\\u003e"}},"interests":["donuts","_-=@,.;"]}',
      ),
    ],
    [
      'PublishToUsers',
      transcript(
        [`POST ${PUBLISHES}/users HTTP/1.1`, ...GO_HEADERS],
        '{"fcm":{"notification":{"title":"Hi \\u0026 bye"}},"users":["ann lee/7+ü%~@"]}',
      ),
    ],
  ],
  deletes: {
    user: USER,
    request: transcript([
      `DELETE ${USERS}/ann%20lee%2F7+%C3%BC%25~@ HTTP/1.1`,
      ...GO_HEADERS.filter((line) => !line.startsWith('Content-Length')),
    ]),
  },
  token: (exp) => [JWT, `{"exp":${exp},"iss":"${ISSUER}","sub":"${USER}"}`],
};

const RUBY_HEADERS = [
  'Accept: application/json',
  'User-Agent: rest-client/2.1.0 (linux x86_64) ruby/3.2.2p53',
  'Content-Type: application/json',
  `Authorization: ${AUTHORIZATION}`,
  'X-Pusher-Library: pusher-push-notifications-ruby 2.0.3',
  'Accept-Encoding: gzip;q=1.0,deflate;q=0.6,identity;q=0.3',
  `Host: ${OWN}`,
];

/** Puts the interests first. */
const ruby: OtherSdk = {
  name: 'Ruby',
  publishes: [
    [
      'publish_to_interests, publish',
      transcript(
        [`POST ${PUBLISHES} HTTP/1.1`, ...RUBY_HEADERS, 'Content-Length: *'],
        '{"interests":["donuts","_-=@,."],"apns":{"aps":{"alert":{"title":"Zoë\'s ☃","body":"<b>"}}}}',
      ),
    ],
    [
      'publish_to_users',
      transcript(
        [`POST ${PUBLISHES}/users HTTP/1.1`, ...RUBY_HEADERS, 'Content-Length: *'],
        '{"users":["ann lee/7+ü%~@"],"fcm":{"notification":{"title":"Hi & bye"}}}',
      ),
    ],
  ],
  deletes: {
    user: USER,
    request: transcript([`DELETE ${USERS}/ann+lee%2F7%2B%C3%BC%25~%40 HTTP/1.1`, ...RUBY_HEADERS]),
  },
  token: (exp) => ['{"alg":"HS256"}', `{"sub":"${USER}","exp":${exp},"iss":"${ISSUER}"}`],
};

const OLD_RUBY_HEADERS = [
  'Accept: application/json',
  'Accept-Encoding: gzip, deflate',
  'User-Agent: rest-client/2.0.2 (darwin17.5.0 x86_64) ruby/2.3.0p0',
  'Content-Type: application/json',
  `Authorization: ${AUTHORIZATION}`,
  'X-Pusher-Library: push-notifications-server-ruby 1.0.0',
  `Host: ${HOSTED}`,
];

/** Recorded with the hosted service in February 2019. */
const oldRuby: OtherSdk = {
  name: 'Ruby 1.0.0',
  publishes: [
    [
      'publish',
      transcript(
        [`POST ${PUBLISHES} HTTP/1.1`, ...OLD_RUBY_HEADERS, 'Content-Length: *'],
        '{"interests":["hello"],"apns":{"aps":{"alert":{"title":"Hello","body":"Hello, world!"}}},"fcm":{"notification":{"title":"Hello","body":"Hello, world!"}}}',
      ),
    ],
    [
      'publish_to_users',
      transcript(
        [`POST ${PUBLISHES}/users HTTP/1.1`, ...OLD_RUBY_HEADERS, 'Content-Length: *'],
        '{"users":["jonathan","jordan","luis","luka","mina"],"apns":{"aps":{"alert":{"title":"Hello","body":"Hello, world!"}}},"fcm":{"notification":{"title":"Hello","body":"Hello, world!"}}}',
      ),
    ],
  ],
  deletes: {
    user: 'Elmo',
    request: transcript([
      `DELETE /user_api/v1/instances/${id}/users/Elmo HTTP/1.1`,
      ...OLD_RUBY_HEADERS,
    ]),
  },
  token: ruby.token,
};

const PYTHON_HEADERS = [
  'Accept-Encoding: identity',
  'User-Agent: python-urllib3/2.8.0',
  `host: ${OWN}`,
  `authorization: ${AUTHORIZATION}`,
  'x-pusher-library: pusher-push-notifications-python 2.0.2',
  'Content-Length: *',
];

/** Escapes non-ASCII characters, and sends no Accept header. */
const python: OtherSdk = {
  name: 'Python 2.0.2',
  publishes: [
    [
      'publish_to_interests, publish',
      transcript(
        [
          `POST ${PUBLISHES}/interests HTTP/1.1`,
          ...PYTHON_HEADERS,
          'Content-Type: application/json',
        ],
        '{"apns": {"aps": {"alert": "Zo\\u00eb\'s <b>\\u2603</b>"}}, "interests": ["donuts", "_-=@,.;"]}',
      ),
    ],
    [
      'publish_to_users',
      transcript(
        [`POST ${PUBLISHES}/users HTTP/1.1`, ...PYTHON_HEADERS, 'Content-Type: application/json'],
        '{"fcm": {"notification": {"title": "Hi & bye"}}, "users": ["ann lee/7+\\u00fc%~@"]}',
      ),
    ],
  ],
  deletes: {
    user: USER,
    request: transcript([
      `DELETE ${USERS}/ann%20lee/7%2B%C3%BC%25~%40 HTTP/1.1`,
      ...PYTHON_HEADERS,
    ]),
  },
  // It uses local time as UTC: tokens expire later west of Greenwich and earlier east of it.
  token: (exp) => [JWT, `{"iss":"${ISSUER}","sub":"ann lee/7+\\u00fc%~@","exp":${exp + 8 * 3600}}`],
};

/** The last version before `publish_to_interests`: its path names no kind. */
const oldPython: OtherSdk = {
  ...python,
  name: 'Python 1.0.2',
  publishes: [
    [
      'publish',
      transcript(
        [
          `POST ${PUBLISHES} HTTP/1.1`,
          ...PYTHON_HEADERS.map((line) => line.replace('2.0.2', '1.0.2')),
          'Content-Type: application/json',
        ],
        '{"apns": {"aps": {"alert": "Hello World!"}}, "interests": ["donuts"]}',
      ),
    ],
  ],
};

const PHP_HEADERS = [
  `Host: ${OWN}`,
  'User-Agent: GuzzleHttp/7',
  `Authorization: ${AUTHORIZATION}`,
  'X-Pusher-Library: pusher-push-notifications-php 1.1.0',
];

/** Escapes non-ASCII characters and slashes, and sends no Accept header. */
const php: OtherSdk = {
  name: 'PHP',
  publishes: [
    [
      'publishToInterests, publish',
      transcript(
        [
          `POST ${PUBLISHES}/interests HTTP/1.1`,
          'Content-Length: *',
          ...PHP_HEADERS,
          'Content-Type: application/json',
        ],
        '{"apns":{"aps":{"alert":"Zo\\u00eb\'s <b>\\u2603<\\/b>"}},"interests":["donuts","_-=@,.;"]}',
      ),
    ],
    [
      'publishToUsers',
      transcript(
        [
          `POST ${PUBLISHES}/users HTTP/1.1`,
          'Content-Length: *',
          ...PHP_HEADERS,
          'Content-Type: application/json',
        ],
        '{"fcm":{"notification":{"title":"Hi & bye"}},"users":["ann lee\\/7+\\u00fc%~@"]}',
      ),
    ],
  ],
  deletes: {
    user: USER,
    request: transcript([`DELETE ${USERS}/ann+lee%2F7%2B%C3%BC%25%7E%40 HTTP/1.1`, ...PHP_HEADERS]),
  },
  token: (exp) => [
    '{"typ":"JWT","alg":"HS256"}',
    `{"iss":"${ISSUER.replaceAll('/', '\\/')}","sub":"ann lee\\/7+\\u00fc%~@","exp":${exp}}`,
  ],
};

const JAVA_HEADERS = [
  'Accept: application/json',
  `Authorization: ${AUTHORIZATION}`,
  'X-Pusher-Library: pusher-push-notifications-server-java 1.1.1',
];
const JAVA_OWN_HEADERS = [
  `Host: ${HOSTED}`,
  'Connection: Keep-Alive',
  'User-Agent: Apache-HttpClient/4.5.4 (Java/17.0.15)',
  'Accept-Encoding: gzip,deflate',
];

/** Escapes HTML characters. */
const java: OtherSdk = {
  name: 'Java 1.1.1',
  publishes: [
    [
      'publishToInterests, publish',
      transcript(
        [
          `POST ${PUBLISHES}/interests HTTP/1.1`,
          ...JAVA_HEADERS,
          'Content-Type: application/json',
          'Content-Length: *',
          ...JAVA_OWN_HEADERS,
        ],
        '{"apns":{"aps":{"alert":"Zoë\\u0027s \\u003cb\\u003e☃\\u003c/b\\u003e"}},"interests":["donuts","_-\\u003d@,.;"]}',
      ),
    ],
    [
      'publishToUsers',
      transcript(
        [
          `POST ${PUBLISHES}/users HTTP/1.1`,
          ...JAVA_HEADERS,
          'Content-Type: application/json',
          'Content-Length: *',
          ...JAVA_OWN_HEADERS,
        ],
        '{"fcm":{"notification":{"title":"Hi \\u0026 bye"}},"users":["ann lee/7+ü%~@"]}',
      ),
    ],
  ],
  deletes: {
    user: USER,
    request: transcript([
      `DELETE ${USERS}/ann+lee%2F7%2B%C3%BC%25%7E%40 HTTP/1.1`,
      ...JAVA_HEADERS,
      ...JAVA_OWN_HEADERS,
    ]),
  },
  token: (exp) => [
    '{"typ":"JWT","alg":"HS256"}',
    `{"sub":"${USER}","iss":"${ISSUER}","exp":${exp}}`,
  ],
};

const SWIFT_HEADERS = [
  `Host: ${HOSTED}`,
  'Accept: application/json',
  'Content-Type: application/json',
  `Authorization: ${AUTHORIZATION}`,
  'User-Agent: backend (unknown version) curl/7.81.0',
  'Accept-Language: en',
  'Accept-Encoding: deflate, gzip, br, zstd',
];
const SWIFT_LIBRARY = 'X-Pusher-Library: push-notifications-server-swift 1.0.3';

/** Escapes slashes in JSON, and in paths only forbidden characters. */
const swift: OtherSdk = {
  name: 'Swift',
  publishes: [
    [
      'publishToInterests',
      transcript(
        [`POST ${PUBLISHES} HTTP/1.1`, ...SWIFT_HEADERS, SWIFT_LIBRARY, 'Content-Length: *'],
        '{"interests":["donuts","_-=@,.;"],"apns":{"aps":{"alert":"Zoë\'s <b>☃<\\/b>"}}}',
      ),
    ],
    [
      'publishToUsers',
      transcript(
        [`POST ${PUBLISHES}/users HTTP/1.1`, ...SWIFT_HEADERS, SWIFT_LIBRARY, 'Content-Length: *'],
        '{"users":["ann lee\\/7+ü%~@"],"fcm":{"notification":{"title":"Hi & bye"}}}',
      ),
    ],
  ],
  deletes: {
    user: USER,
    request: transcript([
      `DELETE ${USERS}/ann%20lee/7+%C3%BC%25~@ HTTP/1.1`,
      ...SWIFT_HEADERS,
      SWIFT_LIBRARY,
    ]),
  },
  // The issuer has no scheme.
  token: (exp) => [
    '{"typ":"JWT","alg":"HS256"}',
    `{"sub":"ann lee\\/7+ü%~@","exp":${exp},"iss":"${HOSTED}"}`,
  ],
};

/** Deletes users with another path, in which it escapes nothing. */
const oldSwift: OtherSdk = {
  ...swift,
  name: 'Swift, before it said what it is',
  publishes: [
    [
      'publish',
      transcript(
        [`POST ${PUBLISHES} HTTP/1.1`, ...SWIFT_HEADERS, 'Content-Length: *'],
        '{"interests":["donuts"],"apns":{"aps":{"alert":"Hello"}}}',
      ),
    ],
  ],
  deletes: {
    user: 'ann+lee/7@',
    request: transcript([
      `DELETE /user_api/v1/instances/${id}/users/ann+lee/7@ HTTP/1.1`,
      ...SWIFT_HEADERS,
    ]),
  },
};

/**
 * The official libraries of other languages. The requests of Python 2.0.2 and Java 1.1.1 were recorded; those of Ruby
 * 1.0.0 are from its tests. The others follow the source of the library and the headers of its HTTP client.
 */
export const otherSdks: readonly OtherSdk[] = [
  go,
  ruby,
  oldRuby,
  python,
  oldPython,
  php,
  java,
  swift,
  oldSwift,
];
