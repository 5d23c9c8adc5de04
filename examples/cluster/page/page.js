/** Shows the cluster: its servers, clients on them, the members of a presence channel, and events with their latency. */

const NAMES = ['Ann', 'Bob', 'Cleo', 'Dan', 'Eve', 'Finn', 'Gwen', 'Hugo', 'Ida'];
const FIRST_CLIENTS = 3;
const ROWS_MAX = 50;
const LOG_LINES_MAX = 100;
const POLL_MS = 500;

const byId = (id) => document.getElementById(id);
/** Makes an element. Texts are never parsed as HTML. */
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}
const nodeTag = (number) =>
  make('span', { className: `node node-${number}` }, number ? `Server ${number}` : '–');
const nowMs = () => performance.timeOrigin + performance.now();
const post = (path, form = {}) =>
  fetch(path, { method: 'POST', body: new URLSearchParams(form) }).then((answer) =>
    answer.ok ? answer.json() : Promise.reject(new Error(`${path}: ${answer.status}`)),
  );

let state;
let isPageServed = true;
const clients = [];
/** Rows of the table, by the id of the event. */
const rows = new Map();

function note(text, isBad = false) {
  const time = make('time', {}, new Date().toLocaleTimeString());
  byId('log').prepend(make('li', {}, time, make('span', { className: isBad ? 'bad' : '' }, text)));
  while (byId('log').children.length > LOG_LINES_MAX) byId('log').lastChild.remove();
}

// Servers ---------------------------------------------------------------------------------------

function command(label, path, options = {}) {
  const button = make('button', { type: 'button', ...options }, label);
  button.addEventListener('click', async () => {
    button.disabled = true;
    note(`${label}: ${options.title}`);
    await post(path).catch((error) => note(error.message, true));
    await poll();
  });
  return button;
}

function serverCard({ number, state, port, readiness, sockets }) {
  const className = { up: 'good', down: 'bad', starting: '' }[state];
  const button =
    state === 'up'
      ? command('Kill -9', `/kill/${number}`, { className: 'danger', title: `server ${number}` })
      : command('Start', `/start/${number}`, {
          title: `server ${number}`,
          disabled: state === 'starting',
        });
  return make(
    'article',
    { className: `card node-${number}` },
    make(
      'div',
      { className: 'head' },
      nodeTag(number),
      make('span', { className: `state ${className}` }, state),
    ),
    make(
      'p',
      {},
      state === 'up' ? `port ${port}, clients: ${sockets}` : 'its clients went to the others',
    ),
    make('p', {}, readiness === '' ? '' : `/readyz: ${readiness}`),
    make('div', { className: 'buttons' }, button),
  );
}

function redisCard(isPaused) {
  const button = isPaused
    ? command('Resume', '/resume/redis', { className: 'primary', title: 'Redis' })
    : command('Pause', '/pause/redis', { className: 'danger', title: 'Redis' });
  return make(
    'article',
    { className: 'card' },
    make(
      'div',
      { className: 'head' },
      'Redis',
      make('span', { className: `state ${isPaused ? 'bad' : 'good'}` }, isPaused ? 'paused' : 'up'),
    ),
    make(
      'p',
      {},
      isPaused
        ? 'triggers get 503, connections stay'
        : 'decides for each channel, in one order for all',
    ),
    make('div', { className: 'buttons' }, button),
  );
}

async function poll() {
  try {
    const next = await (await fetch('/state')).json();
    if (!isPageServed) note('The demo runs again');
    isPageServed = true;
    for (const node of next.nodes) {
      const before = state?.nodes[node.number - 1].state ?? node.state;
      if (before !== node.state)
        note(`Server ${node.number} is ${node.state}`, node.state === 'down');
    }
    const isChanged = JSON.stringify(next) !== JSON.stringify(state);
    state = next;
    // A card that is made again loses the focus of its button.
    if (isChanged)
      byId('servers').replaceChildren(
        ...state.nodes.map(serverCard),
        redisCard(state.isRedisPaused),
      );
    if (isChanged) showMembers();
  } catch {
    if (isPageServed) note('The demo does not answer', true);
    isPageServed = false;
  }
}

// Clients ---------------------------------------------------------------------------------------

function addClient() {
  const name = NAMES.find((one) => clients.every((client) => client.name !== one));
  if (name === undefined) return;
  const pusher = new Pusher(state.key, {
    wsHost: location.hostname,
    wsPort: state.channelsPort,
    forceTLS: false,
    enabledTransports: ['ws'],
    // Required by pusher-js, and not used where a host is given.
    cluster: 'local',
    channelAuthorization: { endpoint: '/auth', params: { name } },
  });
  const channel = pusher.subscribe(state.channel);
  const client = { name, pusher, channel, node: undefined, lostAtMs: undefined };
  clients.push(client);
  pusher.connection.bind('state_change', ({ current }) => {
    const wasConnected = client.lostAtMs === undefined && client.node !== undefined;
    if (current !== 'connected' && wasConnected) {
      client.lostAtMs = nowMs();
      note(`${name} lost the connection to server ${client.node}`, true);
      client.node = undefined;
    }
    showClients();
  });
  channel.bind('pusher:subscription_succeeded', () => {
    client.node = channel.members.me.info.node;
    if (client.lostAtMs !== undefined) {
      note(
        `${name} is back on server ${client.node} after ${((nowMs() - client.lostAtMs) / 1000).toFixed(1)} s`,
      );
    }
    client.lostAtMs = undefined;
    showClients();
    showMembers();
  });
  // Each client hears it. The first one that is connected tells.
  channel.bind('pusher:member_removed', ({ id, info }) => {
    if (client === spokesman() && !isOurs(id)) note(`${info.name} on server ${info.node} is gone`);
    showMembers();
  });
  channel.bind('pusher:member_added', showMembers);
  channel.bind('message', (event) => heard(client, event));
  showClients();
}

function removeClient(client) {
  clients.splice(clients.indexOf(client), 1);
  note(`${client.name} leaves server ${client.node ?? '–'}`);
  client.node = undefined;
  client.pusher.disconnect();
  showClients();
  showMembers();
}

const isInside = (client) =>
  client.pusher.connection.state === 'connected' && client.channel.subscribed;
const spokesman = () => clients.find(isInside);
const isOurs = (id) => clients.some(({ pusher }) => pusher.connection.socket_id === id);

function showClients() {
  byId('add').disabled = clients.length === NAMES.length;
  byId('clients').replaceChildren(
    ...clients.map((client) => {
      const { state } = client.pusher.connection;
      const leave = make('button', { type: 'button', title: `Disconnect ${client.name}` }, 'Leave');
      leave.addEventListener('click', () => removeClient(client));
      return make(
        'article',
        { className: `card node-${client.node}` },
        make('div', { className: 'head' }, client.name, nodeTag(client.node)),
        make('p', { className: state === 'connected' ? '' : 'bad' }, state),
        make('div', { className: 'buttons' }, leave),
      );
    }),
  );
}

function showMembers() {
  const viewers = clients.filter(isInside);
  byId('channel').textContent = state.channel;
  const views = viewers.map(({ channel }) => Object.keys(channel.members.members).sort().join());
  const members = viewers[0]?.channel.members.members ?? {};
  byId('members').replaceChildren(
    ...Object.values(members).map(({ name, node }) => {
      const isGhost = state.nodes[node - 1]?.state !== 'up';
      const text = isGhost ? `${name}: its server is down, gone within 15 s` : name;
      return make('li', { className: isGhost ? 'ghost' : '' }, text, nodeTag(node));
    }),
  );
  const isSame = new Set(views).size <= 1;
  const count = Object.keys(members).length;
  byId('views').className = isSame ? 'view' : 'view bad';
  byId('views').textContent =
    viewers.length === 0
      ? ''
      : isSame
        ? `All ${viewers.length} clients see the same ${count} members.`
        : `The clients see different members: ${viewers.map(({ name, channel }) => `${name} ${channel.members.count}`).join(', ')}.`;
}

// Events ----------------------------------------------------------------------------------------

/** The row of an event. It may be heard before the answer to its trigger is read. */
function rowOf(id, text) {
  const known = rows.get(id);
  if (known !== undefined) return known;
  const row = { over: make('td'), heardBy: make('td') };
  row.element = make('tr', {}, make('td', {}, text), row.over, row.heardBy);
  rows.set(id, row);
  byId('events').prepend(row.element);
  byId('no-events').hidden = true;
  if (rows.size > ROWS_MAX) {
    const [oldest] = rows.keys();
    rows.get(oldest).element.remove();
    rows.delete(oldest);
  }
  return row;
}

function heard(client, { id, text, sentAtMs, by }) {
  const row = rowOf(id, text);
  row.over.replaceChildren(nodeTag(by));
  const ms = (nowMs() - sentAtMs).toFixed(1);
  row.heardBy.append(
    make(
      'span',
      { className: 'heard' },
      make('span', { className: `node node-${client.node}` }, client.name),
      ` ${ms}`,
    ),
  );
}

async function send(text) {
  const id = crypto.randomUUID().slice(0, 18);
  const row = rowOf(id, text);
  const { status, by } = await post('/events', { id, text, sentAtMs: nowMs() }).catch(() => ({
    status: 0,
  }));
  if (by !== undefined) row.over.replaceChildren(nodeTag(by));
  if (status === 200) return;
  const why = status === 0 ? 'No server answered' : `Refused with ${status}`;
  row.heardBy.append(make('span', { className: 'bad' }, why));
  note(`${why}: ${text}`, true);
}

let sent = 0;
const nextText = () => `Event ${++sent}`;

byId('send').addEventListener('submit', (submitted) => {
  submitted.preventDefault();
  void send(byId('text').value.trim() || nextText());
  byId('text').value = '';
});
byId('burst').addEventListener('click', async () => {
  for (let n = 0; n < 10; n++) await send(nextText());
});
byId('add').addEventListener('click', addClient);

await poll();
for (let n = 0; n < FIRST_CLIENTS; n++) addClient();
setInterval(poll, POLL_MS);
