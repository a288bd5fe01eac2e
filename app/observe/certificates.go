package observe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var certificateSeconds = prometheus.NewDesc(prometheus.BuildFQName(namespace, "", "certificate_expires_seconds"),
	"Seconds until a certificate, an authority or a list of revoked certificates ends; negative afterwards.",
	[]string{"what", "file"}, nil)

// certificates is a prometheus.Collector of what each shows: what ends, its file, and when it ends.
type certificates func(show func(what, file string, at time.Time))

// Certificates shows when certificates end, which each shows.
func (c *Coordinator) Certificates(each func(show func(what, file string, at time.Time))) {
	c.Registry.MustRegister(certificates(each))
}

// Certificates shows when certificates end, which each shows.
func (r *Runner) Certificates(each func(show func(what, file string, at time.Time))) {
	r.Registry.MustRegister(certificates(each))
}

// Describe implements prometheus.Collector.
func (certificates) Describe(out chan<- *prometheus.Desc) { out <- certificateSeconds }

// Collect implements prometheus.Collector. A file with several authorities shows the one that ends first.
func (c certificates) Collect(out chan<- prometheus.Metric) {
	first := map[[2]string]time.Time{}
	c(func(what, file string, at time.Time) {
		key := [2]string{what, file}
		if earlier, seen := first[key]; !seen || at.Before(earlier) {
			first[key] = at
		}
	})
	for key, at := range first {
		out <- prometheus.MustNewConstMetric(certificateSeconds, prometheus.GaugeValue, time.Until(at).Seconds(), key[0], key[1])
	}
}
