# Files spam in the folder Junk, and what tamis is unsure of in Unsure, for all users of Dovecot (Pigeonhole, with its plugin
# sieve_extprograms). It is a global script: in a user's own script, Pigeonhole knows no filters, and runs nothing of it.
#
#   install -d /etc/dovecot/sieve /etc/dovecot/sieve-filter
#   ln -s /usr/bin/tamis /etc/dovecot/sieve-filter/tamis
#   cp tamis.sieve /etc/dovecot/sieve/ && sievec /etc/dovecot/sieve/tamis.sieve
#
# sievec takes Dovecot's settings; those of the plugin are, in a file of /etc/dovecot/conf.d:
#
#   protocol lmtp {
#     mail_plugins = $mail_plugins sieve
#   }
#   plugin {
#     sieve_plugins = sieve_extprograms
#     sieve_global_extensions = +vnd.dovecot.filter
#     sieve_filter_bin_dir = /etc/dovecot/sieve-filter
#     sieve_before = /etc/dovecot/sieve/tamis.sieve
#   }
#
# Users' own scripts run after it. If tamis fails, the message goes on as it came.

require ["vnd.dovecot.filter", "fileinto", "mailbox"];

filter "tamis" ["score", "--passthrough"];

if header :matches "X-Tamis" "spam;*" {
    fileinto :create "Junk";
    stop;
}

if header :matches "X-Tamis" "unsure;*" {
    fileinto :create "Unsure";
    stop;
}
