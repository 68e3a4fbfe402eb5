// Everything that is asked of the server. Addresses are relative: the token in the page's own address goes with them.

// The server has read the request and says no, in a sentence: to send it again would be of no use.
export class Refused extends Error {}

async function send(path, options) {
  const response = await fetch(`api/${path}`, options).catch(() => { throw new Error("The server does not answer."); });
  const found = await response.json().catch(() => ({}));
  if (response.ok) return found;
  const message = found.error || (response.status === 403
    ? "The server that made this page has ended: open the address that lcdvt printed last."
    : `The server answered ${response.status}: its terminal may say why.`);
  // Anything else is no verdict: another server may have taken this one's place, or its disk may be full.
  throw response.status === 400 && found.error ? new Refused(message) : new Error(message);
}

export function get(path, query = {}) {
  const text = new URLSearchParams(query).toString();
  return send(`${path}${text ? `?${text}` : ""}`);
}

export function post(path, body = {}) {
  return send(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
}

// What was pressed waits in the browser's own store until the server has it on its disk. A page that lost its server
// sends it again; every record has a key, so that it counts once however often it is sent, and lies in the store under
// that key, so that two tabs do not write over each other's.
const RETRY = 2000;

export class Outbox {
  constructor(file, { saved, refused, waiting }) {
    this.prefix = `lcdvt-waiting:${file}:`;
    this.saved = saved;
    this.refused = refused;
    this.waiting = waiting;
    this.busy = null;
    this.retry = null;
    this.added = 0; // by this page
    this.records = this.stored();
  }

  // The records that wait in the store, the oldest first; none where the browser has no store.
  stored() {
    let names = [];
    try {
      names = Object.keys(localStorage).filter(name => name.startsWith(this.prefix));
    } catch {
      return [];
    }
    return names.map(name => this.read(name)).filter(Boolean).sort((a, b) => a.pressed - b.pressed);
  }

  // One record of the store, or nothing where it is damaged: the others must not wait for it.
  read(name) {
    try {
      const record = JSON.parse(localStorage.getItem(name));
      return record.body.key && record.path ? record : null;
    } catch {
      return null;
    }
  }

  add(path, body) {
    const record = { path, body: { key: crypto.randomUUID(), ...body }, pressed: Date.now(), kept: false };
    this.records.push(record);
    this.added++;
    try {
      localStorage.setItem(this.prefix + record.body.key, JSON.stringify({ ...record, kept: true }));
      record.kept = true;
    } catch {
      // a browser without a store still has the page's memory
    }
    return this.flush();
  }

  // Another page may have sent it in the meantime.
  isGone({ kept, body }) {
    return kept && localStorage.getItem(this.prefix + body.key) === null;
  }

  flush() {
    this.busy ||= this.send().finally(() => { this.busy = null; });
    return this.busy;
  }

  async send() {
    while (this.records.length) {
      const record = this.records[0];
      if (!this.isGone(record)) {
        let found = null;
        try {
          found = await post(record.path, record.body);
        } catch (error) {
          if (!(error instanceof Refused)) {
            this.waiting(this.records.length, error.message);
            clearTimeout(this.retry); // one clock, however many keys were pressed meanwhile
            this.retry = setTimeout(() => this.flush(), RETRY);
            return;
          }
          this.refused(record.path, record.body, error.message);
        }
        if (record.kept) localStorage.removeItem(this.prefix + record.body.key);
        if (found) this.saved(record.path, record.body, found);
      }
      this.records.shift();
    }
    this.waiting(0);
  }
}
