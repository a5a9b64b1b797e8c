package run

// Looks is how often in its period the watchdog looks.
const Looks = looks
